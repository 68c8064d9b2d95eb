/** What is told of a ledger that is brought to this program's version, while it is. Rules: ledger.md "Migrations". */

export type MigrationNews = Readonly<{ news: string; fields: Readonly<Record<string, string | number>> }>

export type TellMigration = (news: MigrationNews) => void
