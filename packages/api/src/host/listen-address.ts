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
