-- 0012_access.sql
-- People whom Cloudflare Access knows. An admin binds a token to an e-mail; whoever Access says has it
-- may what the token may, as long as the token lives. One token an e-mail.
ALTER TABLE tokens ADD COLUMN email TEXT;     -- in small letters

CREATE UNIQUE INDEX tokens_of_emails ON tokens (email);
