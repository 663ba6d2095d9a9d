import { configInvalid } from '@steeple/contracts'

/** Where to listen. Port 0 takes any free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Reads `host:port`, `:port` (every IPv4 interface) and `[v6]:port`. Throws `config_invalid`. */
export function listenAddressFrom(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):([0-9]{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (match === null || port > 65_535) {
    throw configInvalid(`server.listen is ${text}; allowed is host:port, :port or [v6]:port`)
  }
  return { host: match[1] ?? (match[2] === '' || match[2] === undefined ? '0.0.0.0' : match[2]), port }
}

/** What keeps the service from listening, in words; other errors as they are. */
export function listenProblem(error: NodeJS.ErrnoException, text: string): Error {
  const why = REASONS[error.code ?? '']
  return why === undefined ? error : configInvalid(`server.listen is ${text}: ${why}`, { cause: error })
}

const REASONS: Readonly<Partial<Record<string, string>>> = {
  EADDRINUSE: 'something listens there already; stop it, or give this service another --listen',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen on that port; take one from 1024 on, or give CAP_NET_BIND_SERVICE',
}
