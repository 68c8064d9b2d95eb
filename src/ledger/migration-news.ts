/** News of a migration, for the operator, while it runs. Rules: ledger.md "Migrations". */

export type MigrationNews = Readonly<{ news: string; fields: Readonly<Record<string, string | number>> }>

export type TellMigration = (news: MigrationNews) => void
