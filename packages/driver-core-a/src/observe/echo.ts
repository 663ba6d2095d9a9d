import { createSocket } from 'node:dgram'
import { isIPv6 } from 'node:net'
import { pause } from '@steeple/southbound'

/** What is asked where, and from which port of this machine (0: any). */
interface Echo {
  readonly port: number
  readonly from: number
  readonly request: Buffer
}

/** GTP-U Echo Request, TS 29.281 §7.2.1. */
const GTPU_ECHO: Echo = { port: 2152, from: 0, request: Buffer.from('320100040000000000010000', 'hex') }
/**
 * GTP-C Echo Request, TS 29.274 §7.1.1, with a recovery counter. Always from one port: the core remembers each address and port
 * that it was spoken to from, and its table of them is small.
 */
const GTPC_ECHO: Echo = {
  port: 2123,
  from: 21_230,
  request: Buffer.from('40010009000001000300010000', 'hex'),
}

/** What daemons without a server of HTTP are asked by. */
export const ECHOES: Readonly<Record<'gtpu' | 'gtpc', Echo>> = { gtpu: GTPU_ECHO, gtpc: GTPC_ECHO }

/** How long another look may keep the port, ms. */
const TAKEN_MS = 50

/** Asks an address whether it answers an echo request. False also when it cannot be asked from here. */
export async function echoes(
  echo: Echo,
  address: string,
  limitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
  for (;;) {
    const how = await asked(echo, address, limit)
    signal.throwIfAborted()
    if (how !== 'taken' || limit.aborted) return how === 'answered'
    await pause(TAKEN_MS, signal)
  }
}

async function asked(
  { port, from, request }: Echo,
  address: string,
  limit: AbortSignal,
): Promise<'answered' | 'silent' | 'taken'> {
  const { promise, resolve } = Promise.withResolvers<'answered' | 'silent' | 'taken'>()
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  const end = (): void => resolve('silent')
  limit.addEventListener('abort', end, { once: true })
  // Of both protocols an Echo Response is message 2.
  socket.on('message', (answer) => answer[1] === 2 && resolve('answered'))
  socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'EADDRINUSE' ? 'taken' : 'silent'))
  // Connected, it hears that nobody listens there.
  socket.on('connect', () => socket.send(request))
  socket.bind(from, () => socket.connect(port, address))
  try {
    return limit.aborted ? 'silent' : await promise
  } finally {
    limit.removeEventListener('abort', end)
    socket.close()
  }
}
