// Clients that are installed beside the project, by sentry_peers.mjs.
declare module "@sentry/browser";
declare module "@sentry/cloudflare";

declare var DSN: string;
declare var TUNNEL: string;
declare var TIMEOUT: string;
declare var send: (dsn: string, timeout: string) => Promise<boolean>;
