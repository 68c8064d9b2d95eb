/** An SMTP server that keeps what it is given, or refuses it (https://www.rfc-editor.org/rfc/rfc5321#section-4). */

type Letter = Readonly<{ from: string; to: readonly string[]; text: string }>
export type SmtpServer = Readonly<{ url: string; letters: Letter[]; connections(): number; stop(): void }>

type Talk = { lines: string; from: string; to: string[]; body: string | undefined }

/** `answer`: to a command, instead of the usual one. */
export function startSmtp(answer: (command: string) => string | undefined = () => undefined): SmtpServer {
  const letters: Letter[] = []
  let connections = 0
  const usual = (command: string): string => {
    if (/^EHLO/i.test(command)) return '250-mail.example\r\n250 AUTH PLAIN'
    if (/^AUTH/i.test(command)) return '235 ok'
    if (/^DATA/i.test(command)) return '354 go on'
    return /^QUIT/i.test(command) ? '221 bye' : '250 ok'
  }
  const hear = (talk: Talk, line: string): string | undefined => {
    if (talk.body !== undefined) {
      if (line !== '.') talk.body += `${line}\n`
      else letters.push({ from: talk.from, to: talk.to, text: talk.body })
      if (line !== '.') return undefined
      talk.body = undefined
      talk.to = []
      return '250 taken'
    }
    const said = answer(line) ?? usual(line)
    const [, kind, address = ''] = /^(MAIL FROM|RCPT TO):<([^>]*)>/i.exec(line) ?? []
    if (kind === 'MAIL FROM') talk.from = address
    if (kind === 'RCPT TO') talk.to.push(address)
    if (said.startsWith('354')) talk.body = ''
    return said
  }
  const listener = Bun.listen<Talk>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        connections++
        socket.data = { lines: '', from: '', to: [], body: undefined }
        socket.write('220 mail.example\r\n')
      },
      data(socket, bytes) {
        const { data } = socket
        data.lines += bytes.toString()
        for (let at = data.lines.indexOf('\r\n'); at !== -1; at = data.lines.indexOf('\r\n')) {
          const said = hear(data, data.lines.slice(0, at))
          data.lines = data.lines.slice(at + 2)
          if (said !== undefined) socket.write(`${said}\r\n`)
        }
      },
      error: () => undefined,
    },
  })
  return { url: `smtp://user:secret@127.0.0.1:${listener.port}`, letters, connections: () => connections, stop: () => listener.stop(true) }
}
