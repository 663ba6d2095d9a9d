import { configInvalid } from '@steeple/contracts'
import { type ListenAddress, parseListenAddress } from '@steeple/settings'

/** As `parseListenAddress`. Throws `config_invalid`. */
export function listenAddressFrom(text: string, key = 'server.listen'): ListenAddress {
  const address = parseListenAddress(text)
  if (address === undefined)
    throw configInvalid(`${key} is ${text}; allowed is host:port, :port or [v6]:port`)
  return address
}

/** What keeps the service from listening, in words; other errors as they are. */
export function listenProblem(error: NodeJS.ErrnoException, text: string, key: string): Error {
  const why = REASONS[error.code ?? '']
  return why === undefined ? error : configInvalid(`${key} is ${text}: ${why}`, { cause: error })
}

const REASONS: Readonly<Partial<Record<string, string>>> = {
  EADDRINUSE: 'something listens there already; stop it, or give this service another address',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EACCES: 'this user may not listen on that port; take one from 1024 on, or give CAP_NET_BIND_SERVICE',
}
