CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE boots (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  node TEXT NOT NULL,
  started_at INTEGER NOT NULL
) STRICT;
CREATE TABLE accounts (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  credited_picos INTEGER NOT NULL DEFAULT 0 CHECK (credited_picos BETWEEN -9000000000000000000 AND 9000000000000000000),
  spent_picos INTEGER NOT NULL DEFAULT 0 CHECK (spent_picos >= 0),
  balance_picos INTEGER NOT NULL DEFAULT 0,
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  topped_up_at INTEGER,
  created_at INTEGER NOT NULL,
  -- Head of the chain of lane 0: how many receipts and credits are in it, and the hash of the last one.
  chain_count INTEGER NOT NULL DEFAULT 0 CHECK (chain_count >= 0),
  chain_hash BLOB CHECK (length(chain_hash) = 32),
  CHECK (balance_picos = credited_picos - spent_picos),
  CHECK ((chain_count = 0) = (chain_hash IS NULL))
) STRICT;
CREATE TABLE keys (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  name TEXT NOT NULL,
  plan TEXT NOT NULL,
  limit_picos INTEGER CHECK (limit_picos >= 0),
  spent_picos INTEGER NOT NULL DEFAULT 0 CHECK (spent_picos >= 0),
  expires_at INTEGER,
  is_active INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
  last_synced_at INTEGER NOT NULL,
  -- The newest settle; null where nothing was asked yet.
  last_used_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE key_secrets (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  key_number INTEGER NOT NULL REFERENCES keys (number),
  display TEXT NOT NULL,
  valid_until INTEGER,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE models (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL
) STRICT;
CREATE TABLE price_versions (
  number INTEGER PRIMARY KEY,
  model_number INTEGER NOT NULL REFERENCES models (number),
  input_rate_picos INTEGER NOT NULL CHECK (input_rate_picos >= 0),
  output_rate_picos INTEGER NOT NULL CHECK (output_rate_picos >= 0),
  cache_read_rate_picos INTEGER NOT NULL CHECK (cache_read_rate_picos >= 0),
  cache_write_5m_rate_picos INTEGER NOT NULL CHECK (cache_write_5m_rate_picos >= 0),
  cache_write_1h_rate_picos INTEGER NOT NULL CHECK (cache_write_1h_rate_picos >= 0),
  server_tool_use_rate_picos INTEGER NOT NULL CHECK (server_tool_use_rate_picos >= 0)
) STRICT;
CREATE TABLE upstreams (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  model TEXT NOT NULL
) STRICT;
CREATE TABLE marks (
  request_id TEXT PRIMARY KEY,
  key_number INTEGER NOT NULL REFERENCES keys (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  boot_number INTEGER NOT NULL REFERENCES boots (number),
  upstream_number INTEGER REFERENCES upstreams (number),
  upstream_message_id TEXT,
  upstream_request_id TEXT,
  format TEXT NOT NULL CHECK (format = 'messages' OR format = 'chat' OR format = 'responses'),
  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),
  hold_picos INTEGER NOT NULL CHECK (hold_picos >= 0),
  started_at INTEGER NOT NULL,
  marked_at INTEGER NOT NULL,
  basis TEXT NOT NULL CHECK (basis = 'final' OR basis = 'partial' OR basis = 'estimated' OR basis = 'none'),
  bytes_per_token_thousandths INTEGER CHECK (bytes_per_token_thousandths > 0),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE receipts (
  number INTEGER PRIMARY KEY,
  request_id TEXT NOT NULL,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  key_number INTEGER NOT NULL REFERENCES keys (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  boot_number INTEGER NOT NULL REFERENCES boots (number),
  -- The upstream that answered; null where none did.
  upstream_number INTEGER REFERENCES upstreams (number),
  upstream_message_id TEXT,
  upstream_request_id TEXT,
  attempts INTEGER NOT NULL CHECK (attempts >= 0),
  format TEXT NOT NULL CHECK (format = 'messages' OR format = 'chat' OR format = 'responses'),
  is_stream INTEGER NOT NULL CHECK (is_stream IN (0, 1)),
  outcome TEXT NOT NULL CHECK (outcome = 'complete' OR outcome = 'fault' OR outcome = 'deadline' OR outcome = 'leaver' OR outcome = 'drain' OR outcome = 'cut' OR outcome = 'recovered'),
  basis TEXT NOT NULL CHECK (basis = 'final' OR basis = 'partial' OR basis = 'estimated' OR basis = 'none'),
  -- What an estimate took for a token; null where nothing was estimated.
  bytes_per_token_thousandths INTEGER CHECK (bytes_per_token_thousandths IS NULL OR (bytes_per_token_thousandths > 0 AND basis = 'estimated')),
  status INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  hold_picos INTEGER NOT NULL CHECK (hold_picos >= 0),
  -- Of the conversation, salted with the account; null where the request names none.
  session_hash BLOB CHECK (length(session_hash) = 32),
  started_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  -- Whole UTC days since 1970, under which the roll-ups count it: that of the settle, for what a dead process left that of the start.
  day INTEGER NOT NULL,
  first_byte_ms INTEGER,
  duration_ms INTEGER NOT NULL,
  -- Its place in the account's chain, without a gap, and the SHA-256 of the one before and of the row (src/ledger/chain.ts).
  lane INTEGER NOT NULL DEFAULT 0 CHECK (lane >= 0),
  seq INTEGER NOT NULL CHECK (seq > 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  CONSTRAINT charged_or_waived CHECK (cost_picos = 0 OR waived_picos = 0),
  CONSTRAINT day_of_start_or_settle CHECK (day = settled_at / 86400000 OR (day = started_at / 86400000 AND outcome = 'recovered'))
) STRICT;
CREATE TABLE receipt_pages (
  key_number INTEGER NOT NULL,
  settled_at INTEGER NOT NULL,
  receipt_number INTEGER NOT NULL,
  PRIMARY KEY (key_number, settled_at, receipt_number)
) STRICT, WITHOUT ROWID;
CREATE TABLE attempts (
  request_id TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt > 0),
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  key_number INTEGER NOT NULL REFERENCES keys (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  boot_number INTEGER NOT NULL REFERENCES boots (number),
  upstream_number INTEGER NOT NULL REFERENCES upstreams (number),
  upstream_message_id TEXT,
  upstream_request_id TEXT,
  status INTEGER,
  cause TEXT NOT NULL,
  basis TEXT NOT NULL CHECK (basis = 'final' OR basis = 'partial' OR basis = 'estimated' OR basis = 'none'),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  price_picos INTEGER NOT NULL CHECK (price_picos >= 0),
  started_at INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  PRIMARY KEY (request_id, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE credits (
  id TEXT PRIMARY KEY,
  account_number INTEGER NOT NULL REFERENCES accounts (number),
  kind TEXT NOT NULL CHECK (kind = 'top-up' OR kind = 'refund' OR kind = 'correction'),
  amount_picos INTEGER NOT NULL CHECK (amount_picos <> 0),
  ref TEXT NOT NULL,
  actor TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  lane INTEGER NOT NULL DEFAULT 0 CHECK (lane >= 0),
  seq INTEGER NOT NULL CHECK (seq > 0),
  hash BLOB NOT NULL CHECK (length(hash) = 32),
  CONSTRAINT top_up_adds CHECK (kind <> 'top-up' OR amount_picos > 0),
  CONSTRAINT refund_takes CHECK (kind <> 'refund' OR amount_picos < 0)
) STRICT, WITHOUT ROWID;
CREATE TABLE code_batches (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  amount_picos INTEGER NOT NULL CHECK (amount_picos BETWEEN 1 AND 9000000000000000000),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  disabled_at INTEGER
) STRICT;
CREATE TABLE codes (
  hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
  batch_number INTEGER NOT NULL REFERENCES code_batches (number),
  place INTEGER NOT NULL CHECK (place > 0),
  display TEXT NOT NULL,
  account_number INTEGER REFERENCES accounts (number),
  credit_id TEXT REFERENCES credits (id),
  redeemed_at INTEGER,
  CHECK ((credit_id IS NULL) = (account_number IS NULL)),
  CHECK ((credit_id IS NULL) = (redeemed_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE TABLE usage_daily (
  key_number INTEGER NOT NULL REFERENCES keys (number),
  day INTEGER NOT NULL,
  model_number INTEGER NOT NULL REFERENCES models (number),
  price_number INTEGER NOT NULL REFERENCES price_versions (number),
  requests INTEGER NOT NULL CHECK (requests > 0),
  input_tokens INTEGER NOT NULL CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL CHECK (output_tokens >= 0),
  cache_read_tokens INTEGER NOT NULL CHECK (cache_read_tokens >= 0),
  cache_write_5m_tokens INTEGER NOT NULL CHECK (cache_write_5m_tokens >= 0),
  cache_write_1h_tokens INTEGER NOT NULL CHECK (cache_write_1h_tokens >= 0),
  server_tool_uses INTEGER NOT NULL CHECK (server_tool_uses >= 0),
  cost_picos INTEGER NOT NULL CHECK (cost_picos >= 0),
  waived_picos INTEGER NOT NULL CHECK (waived_picos >= 0),
  -- The part of the cost that rests on estimated tokens.
  estimated_picos INTEGER NOT NULL CHECK (estimated_picos >= 0),
  PRIMARY KEY (key_number, day, model_number, price_number)
) STRICT, WITHOUT ROWID;
CREATE TABLE idempotency (
  key_number INTEGER NOT NULL REFERENCES keys (number),
  header_hash BLOB NOT NULL CHECK (length(header_hash) = 32),
  body_hash BLOB NOT NULL CHECK (length(body_hash) = 32),
  request_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (key_number, header_hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL DEFAULT '',
  address TEXT NOT NULL DEFAULT '',
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  before TEXT NOT NULL DEFAULT '',
  after TEXT NOT NULL
) STRICT;
INSERT INTO meta VALUES ('boot', '01a20a53-eef6-7205-b75f-42b4ae5b543a');
INSERT INTO meta VALUES ('node', 'node_042a2eb6b8a567e6');
INSERT INTO meta VALUES ('paged', '0');
INSERT INTO meta VALUES ('salt', '3ad1404578359b4a0512c99813acd7f7');
INSERT INTO meta VALUES ('schema', '2');
INSERT INTO boots VALUES (1, '01a20a53-eef6-7205-b75f-42b4ae5b543a', 'node_042a2eb6b8a567e6', 1795469602572);
INSERT INTO accounts VALUES (1, 'acc_01a20a53efe57413b2b1df862c4927bf', 'Shop', 143749999999999, 1482000000, 143748517999999, 1, 1795469604063, 1795469602789, 11, X'CBABEBEAE16ED1CE3C9A765DD16538226DB2C0D37F43F388A31E4A2A7CBA419F');
INSERT INTO accounts VALUES (2, 'acc_01a20a53f12671e7ae85b3f4b38a6694', 'other', 3500000000000, 106000000, 3499894000000, 1, 1795469603110, 1795469603110, 2, X'79A11BC9E154BFF5F181C12F7799BB00852E012FDEC2B7B390E4C8C12EECC0EA');
INSERT INTO accounts VALUES (3, 'acc_01a20a53f22574fe86732fd00577b6cd', 'gone', 1000000000000, 0, 1000000000000, 1, 1795469603365, 1795469603365, 1, X'99D2B86592495D0AF6B96980ABA7292F0AF3519B511FD2110F1EDCE36798F0E2');
INSERT INTO keys VALUES (1, 'key_01a20a53f09c745094c8eeb30e6e23d9', 1, 'main', 'default', NULL, 1482000000, NULL, 1, 1795469607191, 1795469607191, 1795469602972);
INSERT INTO keys VALUES (2, 'key_01a20a53f12671e5a7e93f9c8c7cf569', 2, 'other', 'default', 2000000000000, 106000000, NULL, 1, 1795469607379, 1795469607379, 1795469603110);
INSERT INTO keys VALUES (3, 'key_01a20a53f22574fcb9196a20e21f1d77', 3, 'gone', 'default', NULL, 0, NULL, 0, 1795469603365, NULL, 1795469603365);
INSERT INTO key_secrets VALUES (X'51EFDD2BC39D895B679DE5A683C4756ACE8DAC95C10857EC4253DBBE722C4DBC', 2, 'sk-…wlPV', 1795556003239, 1795469603110);
INSERT INTO key_secrets VALUES (X'73D24D12412CACB65D49FEF74A45E5CB7A914787A0D582490B67AE72A4B2F369', 3, 'sk-…Fk2U', NULL, 1795469603365);
INSERT INTO key_secrets VALUES (X'A8BD2C707FAD6BF176A33099FD8FACDD427D46000A816137E0C796D19392184C', 1, 'sk-…WGpI', NULL, 1795469602972);
INSERT INTO key_secrets VALUES (X'D74F49C134E0F4A899BD5DAE45B9C787670FB556346BEE2053E8ED0295EC503B', 2, 'sk-…Nagg', NULL, 1795469603239);
INSERT INTO models VALUES (1, 'claude-sonnet-5-5');
INSERT INTO price_versions VALUES (1, 1, 2000000, 10000000, 100000, 2500000, 4000000, 0);
INSERT INTO upstreams VALUES (1, 'simulator', 'claude-sonnet-5-5');
INSERT INTO marks VALUES ('req_01a20a54028375a291f8aee4fe788367', 1, 1, 1, 1, 'msg_simca50a1bb16c1ce14', 'req_simca50a1bb16c1ce14', 'messages', 1, 60270000000, 1795469607556, 1795469608611, 'partial', NULL, 11, 1, 0, 0, 0, 0);
INSERT INTO receipts VALUES (1, 'req_01a20a53f50073d18b6627aa99f72ab6', 1, 1, 1, 1, 1, 'msg_simf09bf15b12833900', 'req_simf09bf15b12833900', 1, 'messages', 0, 'complete', 'final', NULL, 200, 9, 40, 0, 0, 0, 0, 418000000, 0, 60220000000, X'E29ACD06DFB73DAA50A8C5DC891B86FDFE1EFB8C7482259A781353E4F8BE6C25', 1795469604102, 1795469604914, 20780, 818, 818, 0, 6, X'E86115108207DD2078EA7186F9A4A7D25B9B4ABBD1981753B91B3CDC3DA1900A');
INSERT INTO receipts VALUES (2, 'req_01a20a53f83d7045b8a7357b45d972b3', 1, 1, 1, 1, 1, 'msg_sim8c12642227d9cd02', 'req_sim8c12642227d9cd02', 1, 'messages', 1, 'complete', 'final', NULL, 200, 9, 25, 0, 0, 0, 0, 268000000, 0, 60248000000, X'E29ACD06DFB73DAA50A8C5DC891B86FDFE1EFB8C7482259A781353E4F8BE6C25', 1795469604926, 1795469605430, 20780, 8, 506, 0, 7, X'F640607CBD2384942201F622A674ACF42281FBD53D1272D9F0C38F9A4F548ACB');
INSERT INTO receipts VALUES (3, 'req_01a20a53fa41737390664f7444dfa3a6', 1, 1, 1, 1, 1, 'msg_sim25d3bd18272adfe6', 'req_sim25d3bd18272adfe6', 1, 'messages', 1, 'fault', 'estimated', 4000, 200, 11, 14, 0, 0, 0, 0, 0, 162000000, 60264000000, X'E29ACD06DFB73DAA50A8C5DC891B86FDFE1EFB8C7482259A781353E4F8BE6C25', 1795469605442, 1795469605744, 20780, 3, 303, 0, 8, X'1933902E597F5DDDF46BFE8299991EB0A3867903CBC44F08771DDA644D4BE6F2');
INSERT INTO receipts VALUES (4, 'req_01a20a53fb7370f9bab9f36229729857', 1, 1, 1, 1, 1, 'msg_sim77e8e81da23b19cd', 'req_sim77e8e81da23b19cd', 1, 'chat', 0, 'complete', 'final', NULL, 200, 9, 30, 0, 0, 0, 0, 318000000, 0, 60220000000, X'E29ACD06DFB73DAA50A8C5DC891B86FDFE1EFB8C7482259A781353E4F8BE6C25', 1795469605751, 1795469606353, 20780, 606, 606, 0, 9, X'DA04ADAB01B8C84F8F25310D4DD63C1310DADBCEAC29A7FC15A026286105F8F7');
INSERT INTO receipts VALUES (5, 'req_01a20a53fdd57142afe2b520e1b3a3cd', 1, 1, 1, 1, 1, 'msg_sime8280729bd7fcc1a', 'req_sime8280729bd7fcc1a', 1, 'chat', 1, 'complete', 'final', NULL, 200, 25, 10, 0, 0, 0, 0, 150000000, 0, 60398000000, X'E29ACD06DFB73DAA50A8C5DC891B86FDFE1EFB8C7482259A781353E4F8BE6C25', 1795469606359, 1795469606562, 20780, 6, 205, 0, 10, X'14B24144CD4A975F4798AF311524ED8A5D3F3384C02838516395AB06AF8FBE08');
INSERT INTO receipts VALUES (6, 'req_01a20a53fea77385bda9042496b853c8', 1, 1, 1, 1, 1, 'msg_simdff130076daf551d', 'req_simdff130076daf551d', 1, 'responses', 1, 'complete', 'final', NULL, 200, 9, 31, 0, 0, 0, 0, 328000000, 0, 320250000000, X'E29ACD06DFB73DAA50A8C5DC891B86FDFE1EFB8C7482259A781353E4F8BE6C25', 1795469606569, 1795469607191, 20780, 4, 624, 0, 11, X'CBABEBEAE16ED1CE3C9A765DD16538226DB2C0D37F43F388A31E4A2A7CBA419F');
INSERT INTO receipts VALUES (7, 'req_01a20a54011d7135a2b5dba86a74607e', 2, 2, 1, 1, 1, 'msg_sim19b7c4359c6356a4', 'req_sim19b7c4359c6356a4', 1, 'messages', 0, 'complete', 'final', NULL, 200, 8, 9, 0, 0, 0, 0, 106000000, 0, 60218000000, X'2731C8C7249CF46C5F3E8C55A0354AAED45A458C05A55C95E69F073BB426996A', 1795469607198, 1795469607379, 20780, 182, 182, 0, 2, X'79A11BC9E154BFF5F181C12F7799BB00852E012FDEC2B7B390E4C8C12EECC0EA');
INSERT INTO credits VALUES ('crd_01a20a53efe57414b48c24b6dc1bfa62', 1, 'top-up', 40000000000000, 'invoice-1', 'os:root', '', 1795469602789, 0, 1, X'F01BFF4DB77604C38E972BB3DE521D7CC55E2425F0F22A4BF916CA78B0BF8497');
INSERT INTO credits VALUES ('crd_01a20a53f09c7451be92baf94bcea63d', 1, 'top-up', 100000000000000, '', 'os:root', '', 1795469602972, 0, 2, X'17973E0C8B09B9B706B6A39CB3B5DF67F4D1875A60AA41EF272F04E0B2BA13DE');
INSERT INTO credits VALUES ('crd_01a20a53f12671e6b2bf1b25d919f9c2', 2, 'top-up', 3500000000000, '', 'os:root', '', 1795469603110, 0, 1, X'F24EBC3AF7B06E43EB571F9A37674FC3BCE80EE30FBC524F5D8E6C6A2C1D5EEB');
INSERT INTO credits VALUES ('crd_01a20a53f22574fdaab02e382cea8277', 3, 'top-up', 1000000000000, '', 'os:root', '', 1795469603365, 0, 1, X'99D2B86592495D0AF6B96980ABA7292F0AF3519B511FD2110F1EDCE36798F0E2');
INSERT INTO credits VALUES ('crd_01a20a53f34672c4b22eda015e4c1e48', 1, 'refund', -1250000000000, 'back-1', 'os:root', 'it’s "theirs"', 1795469603654, 0, 3, X'F8EA55FE7724BEB1D22FE53DDD8BA0794FA11A4A3FA05631BE6B0799522D81E1');
INSERT INTO credits VALUES ('crd_01a20a53f3cd71abb40b801a6c512d1a', 1, 'correction', -1, '', 'os:root', 'a picodollar', 1795469603789, 0, 4, X'5A299D5DB9F1408A77C1360DBF33D22DF61137502D29F0ADC25F8F9D5173E5FB');
INSERT INTO credits VALUES ('crd_01a20a53f4df757790a1a19084ef359c', 1, 'top-up', 5000000000000, 'code:batch_01a20a53f44271cf99121a58c226c300-1', 'os:root', '', 1795469604063, 0, 5, X'22A9D9249A7F7E7F36808B70685D3A47E67468243469D0F6736F446308730FA8');
INSERT INTO code_batches VALUES (1, 'batch_01a20a53f44271cf99121a58c226c300', 'spring', 5000000000000, 1795469603906, NULL, NULL);
INSERT INTO codes VALUES (X'11772FD4FA20B7303F45FFC6A09640B7F95987A56A9CFE124925632E31EFE66A', 1, 1, 'TG-…AHQ8', 1, 'crd_01a20a53f4df757790a1a19084ef359c', 1795469604063);
INSERT INTO codes VALUES (X'9891D6FDE92EC9F7A2577EA36EB0C731B5BADF671D09EF844A162805FF906119', 1, 2, 'TG-…JZ5E', NULL, NULL, NULL);
INSERT INTO codes VALUES (X'ED49C67A0326A8876CC167F590BF3A0F05144C95A2D24594562128A3F95B3D67', 1, 3, 'TG-…3Z1K', NULL, NULL, NULL);
INSERT INTO usage_daily VALUES (1, 20780, 1, 1, 6, 72, 150, 0, 0, 0, 0, 1482000000, 162000000, 0);
INSERT INTO usage_daily VALUES (2, 20780, 1, 1, 1, 8, 9, 0, 0, 0, 0, 106000000, 0, 0);
INSERT INTO idempotency VALUES (1, X'05796532EE3B4E88A234DDE484DBE6247F990A98CCBAA5BE69E0D5B935369501', X'CEC0E04D7FF35519C5403C26D2D69E4BD2A94B57B5D2D07EE51FC1600B5DA580', 'req_01a20a53f50073d18b6627aa99f72ab6', 1795556004099);
INSERT INTO idempotency VALUES (1, X'547D76188967098FC19DF0271DFD16222A7FBC8C232E8071DA6D0B6605AF668D', X'EA6B3612A22689B7D4CF042A6B1701EFA02CAC5EEDB92379BB2A59C941FA6281', 'req_01a20a53fb7370f9bab9f36229729857', 1795556005748);
INSERT INTO idempotency VALUES (1, X'ABC2AB2A0C33766F61FB02DCEE8FD94ED389AB5553C673E426048E7B2FFCB365', X'5E63733BDB1CDCAF6878483A273172BE295475F2386A99743F8FC29755BC75BD', 'req_01a20a53fdd57142afe2b520e1b3a3cd', 1795556006358);
INSERT INTO idempotency VALUES (1, X'C9B6B4551FEA891D18226381A3214665099829727914BBB507AA6E180CCB981E', X'B1E5EFC90955255ECCA6C9B2632BCF7181BC2A54DF6E67E48F8607BC64154614', 'req_01a20a53f83d7045b8a7357b45d972b3', 1795556004926);
INSERT INTO idempotency VALUES (1, X'DF7A52A009963A5698F1C041EF45345E00A979824785CA661700A8E74AD8D6CC', X'7AE2FA2913782FCE0949C158C75F0E4AFF8960530A97E6E048D59CDFF43216D8', 'req_01a20a53fea77385bda9042496b853c8', 1795556006568);
INSERT INTO idempotency VALUES (2, X'01A445C3D17AFC2F338E544DD9B3D19A47316C4E772EEAFE43DCCAD744C0AA78', X'91AAC56676C7062495AF78807ECCEEA070F2684A72177F3569D8650B98A4A2AF', 'req_01a20a54011d7135a2b5dba86a74607e', 1795556007198);
INSERT INTO audit_log VALUES (1, 1795469602789, 'os:root', 'socket', 'createAccount', 'acc_01a20a53efe57413b2b1df862c4927bf', '', '{}', '{"name":"Shop"}');
INSERT INTO audit_log VALUES (2, 1795469602789, 'os:root', 'socket', 'credit', 'acc_01a20a53efe57413b2b1df862c4927bf', '', '{"balanceUsd":"0"}', '{"creditId":"crd_01a20a53efe57414b48c24b6dc1bfa62","kind":"top-up","usd":"40","ref":"invoice-1","balanceUsd":"40"}');
INSERT INTO audit_log VALUES (3, 1795469602972, 'os:root', 'socket', 'createKey', 'key_01a20a53f09c745094c8eeb30e6e23d9', '', '{}', '{"accountId":"acc_01a20a53efe57413b2b1df862c4927bf","name":"main","plan":"default","limitUsd":null,"expiresAt":null}');
INSERT INTO audit_log VALUES (4, 1795469602972, 'os:root', 'socket', 'credit', 'acc_01a20a53efe57413b2b1df862c4927bf', '', '{"balanceUsd":"40"}', '{"creditId":"crd_01a20a53f09c7451be92baf94bcea63d","kind":"top-up","usd":"100","ref":"","balanceUsd":"140"}');
INSERT INTO audit_log VALUES (5, 1795469603110, 'os:root', 'socket', 'createAccount', 'acc_01a20a53f12671e7ae85b3f4b38a6694', '', '{}', '{"name":"other"}');
INSERT INTO audit_log VALUES (6, 1795469603110, 'os:root', 'socket', 'createKey', 'key_01a20a53f12671e5a7e93f9c8c7cf569', '', '{}', '{"accountId":"acc_01a20a53f12671e7ae85b3f4b38a6694","name":"other","plan":"default","limitUsd":"2","expiresAt":null}');
INSERT INTO audit_log VALUES (7, 1795469603110, 'os:root', 'socket', 'credit', 'acc_01a20a53f12671e7ae85b3f4b38a6694', '', '{"balanceUsd":"0"}', '{"creditId":"crd_01a20a53f12671e6b2bf1b25d919f9c2","kind":"top-up","usd":"3.5","ref":"","balanceUsd":"3.5"}');
INSERT INTO audit_log VALUES (8, 1795469603239, 'os:root', 'socket', 'rotateKey', 'key_01a20a53f12671e5a7e93f9c8c7cf569', '', '{"display":"sk-…wlPV"}', '{"display":"sk-…Nagg","oldValidUntil":1795556003239}');
INSERT INTO audit_log VALUES (9, 1795469603365, 'os:root', 'socket', 'createAccount', 'acc_01a20a53f22574fe86732fd00577b6cd', '', '{}', '{"name":"gone"}');
INSERT INTO audit_log VALUES (10, 1795469603365, 'os:root', 'socket', 'createKey', 'key_01a20a53f22574fcb9196a20e21f1d77', '', '{}', '{"accountId":"acc_01a20a53f22574fe86732fd00577b6cd","name":"gone","plan":"default","limitUsd":null,"expiresAt":null}');
INSERT INTO audit_log VALUES (11, 1795469603365, 'os:root', 'socket', 'credit', 'acc_01a20a53f22574fe86732fd00577b6cd', '', '{"balanceUsd":"0"}', '{"creditId":"crd_01a20a53f22574fdaab02e382cea8277","kind":"top-up","usd":"1","ref":"","balanceUsd":"1"}');
INSERT INTO audit_log VALUES (12, 1795469603514, 'os:root', 'socket', 'setKeyActive', 'key_01a20a53f22574fcb9196a20e21f1d77', '', '{"isActive":true}', '{"isActive":false}');
INSERT INTO audit_log VALUES (13, 1795469603654, 'os:root', 'socket', 'credit', 'acc_01a20a53efe57413b2b1df862c4927bf', 'it’s "theirs"', '{"balanceUsd":"140"}', '{"creditId":"crd_01a20a53f34672c4b22eda015e4c1e48","kind":"refund","usd":"-1.25","ref":"back-1","balanceUsd":"138.75"}');
INSERT INTO audit_log VALUES (14, 1795469603789, 'os:root', 'socket', 'credit', 'acc_01a20a53efe57413b2b1df862c4927bf', 'a picodollar', '{"balanceUsd":"138.75"}', '{"creditId":"crd_01a20a53f3cd71abb40b801a6c512d1a","kind":"correction","usd":"-0.000000000001","ref":"","balanceUsd":"138.749999999999"}');
INSERT INTO audit_log VALUES (15, 1795469603906, 'os:root', 'socket', 'createCodes', 'batch_01a20a53f44271cf99121a58c226c300', '', '{}', '{"name":"spring","count":3,"usd":"5","expiresAt":null}');
INSERT INTO audit_log VALUES (16, 1795469604063, 'os:root', 'socket', 'credit', 'acc_01a20a53efe57413b2b1df862c4927bf', '', '{"balanceUsd":"138.749999999999"}', '{"creditId":"crd_01a20a53f4df757790a1a19084ef359c","kind":"top-up","usd":"5","ref":"code:batch_01a20a53f44271cf99121a58c226c300-1","balanceUsd":"143.749999999999"}');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('audit_log', 16);
CREATE UNIQUE INDEX boots_id ON boots (id);
CREATE UNIQUE INDEX accounts_id ON accounts (id);
CREATE UNIQUE INDEX accounts_name ON accounts (name) WHERE name <> '';
CREATE INDEX accounts_search ON accounts (lower(name));
CREATE VIEW chain_heads AS
SELECT number AS account_number, 0 AS lane, chain_count, chain_hash FROM accounts WHERE chain_count > 0;
CREATE UNIQUE INDEX keys_id ON keys (id);
CREATE UNIQUE INDEX keys_name ON keys (account_number, name) WHERE name <> '';
CREATE INDEX keys_account ON keys (account_number);
CREATE INDEX keys_search ON keys (lower(name));
CREATE INDEX key_secrets_key ON key_secrets (key_number);
CREATE INDEX key_secrets_display ON key_secrets (display);
CREATE UNIQUE INDEX models_id ON models (id);
CREATE UNIQUE INDEX price_versions_rates ON price_versions (
  model_number, input_rate_picos, output_rate_picos, cache_read_rate_picos, cache_write_5m_rate_picos, cache_write_1h_rate_picos,
  server_tool_use_rate_picos
);
CREATE UNIQUE INDEX upstreams_name ON upstreams (name, model);
CREATE UNIQUE INDEX receipts_request ON receipts (request_id);
CREATE INDEX receipts_over_hold ON receipts (request_id) WHERE cost_picos > hold_picos;
CREATE INDEX receipts_waived ON receipts (request_id) WHERE waived_picos > 0;
CREATE UNIQUE INDEX credits_ref ON credits (ref) WHERE ref <> '';
CREATE UNIQUE INDEX credits_chain ON credits (account_number, lane, seq);
CREATE INDEX credits_time ON credits (account_number, created_at, lane, seq);
CREATE UNIQUE INDEX code_batches_id ON code_batches (id);
CREATE UNIQUE INDEX code_batches_name ON code_batches (name) WHERE name <> '';
CREATE UNIQUE INDEX codes_place ON codes (batch_number, place);
CREATE UNIQUE INDEX codes_credit ON codes (credit_id) WHERE credit_id IS NOT NULL;
CREATE INDEX idempotency_expiry ON idempotency (expires_at);
CREATE INDEX usage_daily_day ON usage_daily (day);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_target ON audit_log (target, at);
CREATE TRIGGER receipts_exact_price AFTER INSERT ON receipts
WHEN NEW.cost_picos + NEW.waived_picos IS NOT (
  SELECT NEW.input_tokens * input_rate_picos + NEW.output_tokens * output_rate_picos
    + NEW.cache_read_tokens * cache_read_rate_picos + NEW.cache_write_5m_tokens * cache_write_5m_rate_picos
    + NEW.cache_write_1h_tokens * cache_write_1h_rate_picos + NEW.server_tool_uses * server_tool_use_rate_picos
  FROM price_versions WHERE number = NEW.price_number
)
BEGIN SELECT RAISE(ABORT, 'exact_price: cost and waiver are not the tokens at their rates'); END;
CREATE TRIGGER marks_not_settled BEFORE INSERT ON marks
WHEN EXISTS (SELECT 1 FROM receipts WHERE request_id = NEW.request_id)
BEGIN SELECT RAISE(ABORT, 'the request is already settled'); END;
CREATE TRIGGER codes_only_redeemed BEFORE UPDATE ON codes
WHEN OLD.credit_id IS NOT NULL OR NEW.hash <> OLD.hash OR NEW.batch_number <> OLD.batch_number OR NEW.place <> OLD.place OR NEW.display <> OLD.display
BEGIN SELECT RAISE(ABORT, 'a code is redeemed once, and nothing else of it changes'); END;
CREATE TRIGGER codes_in_time BEFORE UPDATE ON codes
WHEN NOT EXISTS (
  SELECT 1 FROM code_batches WHERE number = NEW.batch_number AND disabled_at IS NULL AND (expires_at IS NULL OR expires_at > NEW.redeemed_at)
)
BEGIN SELECT RAISE(ABORT, 'the code is expired or disabled'); END;
CREATE TRIGGER code_batches_only_disabled BEFORE UPDATE ON code_batches
WHEN OLD.disabled_at IS NOT NULL OR NEW.number <> OLD.number OR NEW.id <> OLD.id OR NEW.name <> OLD.name OR NEW.amount_picos <> OLD.amount_picos
  OR NEW.created_at <> OLD.created_at OR NEW.expires_at IS NOT OLD.expires_at
BEGIN SELECT RAISE(ABORT, 'a batch of codes is disabled once, and nothing else of it changes'); END;
CREATE TRIGGER receipts_no_update BEFORE UPDATE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are immutable'); END;
CREATE TRIGGER receipts_no_delete BEFORE DELETE ON receipts BEGIN SELECT RAISE(ABORT, 'receipts are immutable'); END;
CREATE TRIGGER attempts_no_update BEFORE UPDATE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are immutable'); END;
CREATE TRIGGER attempts_no_delete BEFORE DELETE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts are immutable'); END;
CREATE TRIGGER credits_no_update BEFORE UPDATE ON credits BEGIN SELECT RAISE(ABORT, 'credits are immutable'); END;
CREATE TRIGGER credits_no_delete BEFORE DELETE ON credits BEGIN SELECT RAISE(ABORT, 'credits are immutable'); END;
CREATE TRIGGER price_versions_no_update BEFORE UPDATE ON price_versions BEGIN SELECT RAISE(ABORT, 'price versions are immutable'); END;
CREATE TRIGGER price_versions_no_delete BEFORE DELETE ON price_versions BEGIN SELECT RAISE(ABORT, 'price versions are immutable'); END;
CREATE TRIGGER models_no_update BEFORE UPDATE ON models BEGIN SELECT RAISE(ABORT, 'models are immutable'); END;
CREATE TRIGGER models_no_delete BEFORE DELETE ON models BEGIN SELECT RAISE(ABORT, 'models are immutable'); END;
CREATE TRIGGER upstreams_no_update BEFORE UPDATE ON upstreams BEGIN SELECT RAISE(ABORT, 'upstreams are immutable'); END;
CREATE TRIGGER upstreams_no_delete BEFORE DELETE ON upstreams BEGIN SELECT RAISE(ABORT, 'upstreams are immutable'); END;
CREATE TRIGGER boots_no_update BEFORE UPDATE ON boots BEGIN SELECT RAISE(ABORT, 'boots are immutable'); END;
CREATE TRIGGER boots_no_delete BEFORE DELETE ON boots BEGIN SELECT RAISE(ABORT, 'boots are immutable'); END;
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END;
CREATE TRIGGER codes_no_delete BEFORE DELETE ON codes BEGIN SELECT RAISE(ABORT, 'codes are disabled, never deleted'); END;
CREATE TRIGGER code_batches_no_delete BEFORE DELETE ON code_batches BEGIN SELECT RAISE(ABORT, 'codes are disabled, never deleted'); END;
CREATE TRIGGER accounts_no_delete BEFORE DELETE ON accounts BEGIN SELECT RAISE(ABORT, 'accounts are disabled, never deleted'); END;
CREATE TRIGGER keys_no_delete BEFORE DELETE ON keys BEGIN SELECT RAISE(ABORT, 'keys are disabled, never deleted'); END;
PRAGMA application_id = 1953459308;
PRAGMA user_version = 2;
