import { readFile } from 'node:fs/promises'
import { type ComponentHealth, type Context, countText } from '@steeple/contracts'
import type { TlsMaterial, TlsWishes } from '../parts.ts'
import type { Handler } from './exchange.ts'
import { listenTls, type TlsListener } from './tls-listener.ts'

export interface KeptListenerOptions {
  readonly context: Pick<Context, 'log' | 'every'>
  /** The key of the configuration, for messages: `esim.listen`. */
  readonly key: string
  /** `host:port`, `:port` or `[v6]:port`; empty: none. */
  readonly address: string
  /** File of the authorities whose clients alone come in. */
  readonly clientCaFile?: string
  readonly handlers: ReadonlyMap<string, Handler>
  material(wishes: TlsWishes): TlsMaterial | undefined
}

/** A listener that is tried again until it stands. */
export interface KeptListener {
  start(): Promise<void>
  stop(): Promise<void>
  /** Undefined while none is configured. */
  health(): ComponentHealth | undefined
}

/** A client that says nothing of itself. */
const NOBODY: TlsWishes = { host: undefined, groups: [], trustedKeys: [] }
const AGAIN_MS = 10_000
const REASONS: Readonly<Partial<Record<string, string>>> = {
  EADDRINUSE: 'something listens there already; stop it, or take another port',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen on that port; take one from 1024 on, or give CAP_NET_BIND_SERVICE',
}

/** Keeps a listener: one that cannot listen now says so in the health and is tried again, and the plugin works without it. */
export function keptListener(options: KeptListenerOptions): KeptListener {
  const { context, key, address } = options
  let listener: TlsListener | undefined
  let problem: string | undefined
  let opening: Promise<void> | undefined
  let isStopped = false
  const open = async (): Promise<void> => {
    const place = placeOf(address)
    if (place === undefined) {
      problem = `${key} is ${address}; allowed is host:port, :port or [v6]:port`
      return
    }
    try {
      const clientCa =
        options.clientCaFile === undefined ? undefined : await authorities(options.clientCaFile)
      listener = await listenTls({
        ...place,
        material: options.material,
        handlers: options.handlers,
        log: context.log,
        ...(clientCa !== undefined && { clientCa }),
      })
      problem = undefined
      context.log.info({ key, port: listener.port }, 'eSIM listener is open')
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException
      const why = `${key} is ${address}: ${REASONS[code] ?? message}`
      if (why !== problem) context.log.error({ key, code }, 'eSIM listener cannot be opened')
      problem = why
    }
  }
  const openOnce = async (): Promise<void> => {
    if (address === '' || isStopped || listener !== undefined) return
    opening ??= open().finally(() => {
      opening = undefined
    })
    await opening
  }
  return {
    start: async () => {
      if (address === '') return
      await openOnce()
      context.every(AGAIN_MS, openOnce, 'each')
    },
    stop: async () => {
      isStopped = true
      await opening
      await listener?.stop()
      listener = undefined
    },
    health: () => {
      if (address === '') return undefined
      // The plugin's name stands before it.
      const part = { name: key.replace('esim.', ''), kind: 'feature' } as const
      if (listener === undefined) return { ...part, status: 'down', detail: problem ?? 'not open yet' }
      return options.material(NOBODY) === undefined
        ? {
            ...part,
            status: 'down',
            detail: `there is no valid CERT.DPtls for ${key}, so connections are closed at once; svc esim certs init makes one, svc esim certs import takes yours`,
          }
        : {
            ...part,
            status: 'ok',
            detail: `port ${listener.port}, ${countText(listener.connections, 'connection')}`,
          }
    },
  }
}

/** Without any, Node would take the clients of every authority that the machine knows. */
async function authorities(file: string): Promise<string> {
  if (file === '') throw new Error('the authorities of its clients are not configured')
  const text = await readFile(file, 'utf8')
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`${file} has no certificate (PEM)`)
  return text
}

function placeOf(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]*):(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  if (match === null || port > 65_535) return undefined
  return { host: (match[1] ?? '').replaceAll(/[[\]]/g, '') || '0.0.0.0', port }
}
