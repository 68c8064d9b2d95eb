/** The bot's commands, as its menu and its help show them. */

export const COMMANDS = [
  { command: 'balance', description: 'Balance, and how long it lasts' },
  { command: 'spend', description: 'What was spent: today, 7 or 30 days' },
  { command: 'keys', description: 'Keys: new, limit, disable, rotate' },
  { command: 'topup', description: 'Top up, by code or by card' },
  { command: 'alerts', description: 'Alerts in this chat: on or off' },
  { command: 'unlink', description: 'Unlink this chat from the account' },
  { command: 'help', description: 'What this bot can do' },
] as const

export const HELP = COMMANDS.map(({ command, description }) => `/${command} – ${description}`).join('\n')
