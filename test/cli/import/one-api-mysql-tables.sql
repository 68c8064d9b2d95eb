-- Tables of one-api as it makes them in MariaDB, recorded from running its migration: https://github.com/songquanpeng/one-api at 8df4a2670b98266bd287c698243fff327d9748cf
CREATE TABLE `tokens` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) DEFAULT NULL,
  `key` char(48) DEFAULT NULL,
  `status` bigint(20) DEFAULT 1,
  `name` varchar(191) DEFAULT NULL,
  `created_time` bigint(20) DEFAULT NULL,
  `accessed_time` bigint(20) DEFAULT NULL,
  `expired_time` bigint(20) DEFAULT -1,
  `remain_quota` bigint(20) DEFAULT 0,
  `unlimited_quota` tinyint(1) DEFAULT 0,
  `used_quota` bigint(20) DEFAULT 0,
  `models` text DEFAULT NULL,
  `subnet` varchar(191) DEFAULT '',
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_tokens_key` (`key`),
  KEY `idx_tokens_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
;
CREATE TABLE `users` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `username` varchar(191) DEFAULT NULL,
  `password` longtext NOT NULL,
  `display_name` varchar(191) DEFAULT NULL,
  `role` bigint(20) DEFAULT 1,
  `status` bigint(20) DEFAULT 1,
  `email` varchar(191) DEFAULT NULL,
  `github_id` varchar(191) DEFAULT NULL,
  `wechat_id` varchar(191) DEFAULT NULL,
  `lark_id` varchar(191) DEFAULT NULL,
  `oidc_id` varchar(191) DEFAULT NULL,
  `access_token` char(32) DEFAULT NULL,
  `quota` bigint(20) DEFAULT 0,
  `used_quota` bigint(20) DEFAULT 0,
  `request_count` bigint(20) DEFAULT 0,
  `group` varchar(32) DEFAULT 'default',
  `aff_code` varchar(32) DEFAULT NULL,
  `inviter_id` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `idx_users_access_token` (`access_token`),
  UNIQUE KEY `idx_users_aff_code` (`aff_code`),
  UNIQUE KEY `uni_users_username` (`username`),
  KEY `idx_users_username` (`username`),
  KEY `idx_users_email` (`email`),
  KEY `idx_users_git_hub_id` (`github_id`),
  KEY `idx_users_lark_id` (`lark_id`),
  KEY `idx_users_display_name` (`display_name`),
  KEY `idx_users_we_chat_id` (`wechat_id`),
  KEY `idx_users_oidc_id` (`oidc_id`),
  KEY `idx_users_inviter_id` (`inviter_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
;
CREATE TABLE `options` (
  `key` varchar(191) NOT NULL,
  `value` longtext DEFAULT NULL,
  PRIMARY KEY (`key`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci
;
