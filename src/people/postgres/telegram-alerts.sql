-- Alerts are delivered to chats, too. The same as `../telegram-alerts.sql`. Rules: pages.md "Alerts", "Telegram".

ALTER TABLE deliveries DROP CONSTRAINT deliveries_channel_check;
ALTER TABLE deliveries ADD CONSTRAINT deliveries_channel_check CHECK (channel IN ('email', 'webhook', 'telegram'));
