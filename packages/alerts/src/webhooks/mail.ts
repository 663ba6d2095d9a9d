import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Mail } from '../receivers/requests.ts'
import { ATTEMPT_MS, judgedAddresses, late, type Sending } from './post.ts'
import { caOf } from './secret-file.ts'
import type { Target } from './target.ts'

/**
 * Hands a mail to a relay, once, over a connection to an address that was judged. Rejects with an Error that says what the relay has
 * answered, or that there was no answer.
 */
export async function sendMail(target: Target, mail: Mail, { signal, resolve }: Sending): Promise<void> {
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
  const addresses = await judgedAddresses(target, resolve, bound)
  const ca = await caOf(target.caFile)
  const { host, port, encryption, login, ...message } = mail
  // Most boxes send no mail, and a start loads nothing for it.
  const { createTransport } = await import('nodemailer')
  const socket = connect({ host, port, lookup: (_host, _options, done) => done(null, [...addresses]) })
  const close = (): void => void socket.destroy()
  bound.addEventListener('abort', close)
  try {
    await connected(socket, bound)
    const transport = createTransport({
      host,
      port,
      connection: socket,
      secure: encryption === 'tls',
      requireTLS: encryption === 'starttls',
      ignoreTLS: encryption === 'none',
      // Said here, so that no variable of the environment switches it off.
      tls: { minVersion: 'TLSv1.2', rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
      ...(login !== undefined && { auth: login }),
      name: 'steeple',
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    // A relay that takes it for some of several readers has taken it: it would come twice to them.
    await transport.sendMail({ ...message, headers: { 'Auto-Submitted': 'auto-generated' } })
  } catch (error) {
    throw bound.aborted && !signal.aborted ? late() : new Error(saidBy(error), { cause: error })
  } finally {
    bound.removeEventListener('abort', close)
    close()
  }
}

async function connected(socket: Socket, signal: AbortSignal): Promise<void> {
  await once(socket, 'connect', { signal })
}

/** What the relay has answered, else what went wrong before. */
function saidBy(error: unknown): string {
  // Checked below.
  const { code, response, message } = error as Readonly<Record<'code' | 'response' | 'message', unknown>>
  if (typeof response !== 'string') return String(message)
  return code === 'ETLS' ? `it offers no STARTTLS: it answers ${response}` : `it answers ${response}`
}
