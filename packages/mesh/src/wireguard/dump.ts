import { isKey, pskDigest, publicKeyOf } from './keys.ts'

/** What a WireGuard interface says of itself. Its private key is not kept. */
export interface SeenInterface {
  /** Undefined while it has no private key. */
  readonly publicKey: string | undefined
  /** UDP; 0 while it has none. */
  readonly listenPort: number
  readonly peers: readonly SeenPeer[]
}

/** One peer of an interface. */
export interface SeenPeer {
  readonly publicKey: string
  /** SHA-256 (hex) of its preshared key; undefined when it has none. The key itself is not kept. */
  readonly pskSha256: string | undefined
  /** `192.0.2.1:51820`, `[2001:db8::1]:51820`; undefined while unknown. */
  readonly endpoint: string | undefined
  /** CIDR. */
  readonly allowedIps: readonly string[]
  /** Seconds since the epoch; undefined when there has been none. */
  readonly handshakeAtS: number | undefined
  readonly rxBytes: number
  readonly txBytes: number
  /** Undefined when it is off. */
  readonly keepaliveS: number | undefined
}

const NONE = '(none)'
const PRIVATE = 0
const INTERFACE_FIELDS = 4
const PEER_FIELDS = 8

/**
 * Reads what `wg show <interface> dump` prints: a line of the interface (private key, public key, port, mark), then one
 * of each peer, fields separated by tabs. wg(8). Undefined when it is none. Nothing of the text is ever in an error.
 */
export function parseDump(text: string): SeenInterface | undefined {
  const [head = '', ...lines] = text.split('\n').filter((line) => line !== '')
  const fields = head.split('\t')
  const port = numberIn(fields[2])
  if (fields.length !== INTERFACE_FIELDS || port === undefined) return undefined
  const peers = lines.map(parsePeer)
  if (peers.some((peer) => peer === undefined)) return undefined
  return {
    publicKey: ownKey(fields[PRIVATE] ?? NONE),
    listenPort: port,
    peers: peers.filter((peer) => peer !== undefined),
  }
}

/** wg prints a public key of zeros where it has no private one. */
function ownKey(privateKey: string): string | undefined {
  return isKey(privateKey) ? publicKeyOf(privateKey) : undefined
}

function parsePeer(line: string): SeenPeer | undefined {
  const fields = line.split('\t')
  const [publicKey = '', psk = '', endpoint = '', allowed = '', handshake, rx, tx, keepalive = ''] = fields
  const [handshakeAtS, rxBytes, txBytes] = [numberIn(handshake), numberIn(rx), numberIn(tx)]
  if (fields.length !== PEER_FIELDS || !isKey(publicKey)) return undefined
  if (handshakeAtS === undefined || rxBytes === undefined || txBytes === undefined) return undefined
  return {
    publicKey,
    pskSha256: psk === NONE ? undefined : pskDigest(psk),
    endpoint: endpoint === NONE ? undefined : endpoint,
    allowedIps: allowed === NONE ? [] : allowed.split(','),
    handshakeAtS: handshakeAtS === 0 ? undefined : handshakeAtS,
    rxBytes,
    txBytes,
    keepaliveS: keepalive === 'off' ? undefined : numberIn(keepalive),
  }
}

function numberIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : undefined
}
