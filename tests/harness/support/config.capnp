# A host for the harness on raw workerd: no wrangler, no miniflare, no Rust.
using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [ (name = "main", worker = .host) ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ]
);

const host :Workerd.Worker = (
  modules = [
    (name = "host.js", esModule = embed "host.js"),
    (name = "record.mjs", esModule = embed "record.mjs")
  ],
  compatibilityDate = "2026-08-01",
  bindings = [ (name = "LOADER", workerLoader = ()) ]
);
