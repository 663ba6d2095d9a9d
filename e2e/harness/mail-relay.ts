import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { ROOT } from './launch.ts'

/** A mail that the relay has taken. */
export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly text: string
}

/** The program of docs/alerts in front of a mail relay. */
export interface MailRelay {
  /** Where webhooks are sent. */
  readonly url: string
  readonly mails: readonly Mail[]
  /** Whether the relay refuses all mail, for now. */
  isBusy: boolean
  stop(): Promise<void>
}

/** Starts both. */
export async function startMailRelay(secretFile: string): Promise<MailRelay> {
  const mails: Mail[] = []
  const relay = { isBusy: false }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (relay.isBusy) {
          done(Object.assign(new Error('try again later'), { responseCode: 451 }))
          return
        }
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address
        const to = envelope.rcptTo.map(({ address }) => address)
        mails.push({ from, to, text: Buffer.concat(chunks).toString('utf8') })
        done()
      })
    },
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.server.address() as AddressInfo
  const program = join(ROOT, 'docs/programs/mail-relay.py')
  const child = spawn('python3', [program], {
    env: {
      ...process.env,
      SECRET_FILE: secretFile,
      MAIL_FROM: 'box@example.org',
      MAIL_TO: 'ops@example.org',
      SMTP: `127.0.0.1:${port}`,
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await firstLine(child)
  return Object.assign(relay, {
    url,
    mails,
    stop: async () => {
      child.kill()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      await new Promise<void>((done) => server.close(() => done()))
    },
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'))
  }
  throw new Error('the program of docs/alerts has ended')
}
