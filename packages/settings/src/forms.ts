import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join, posix, resolve } from 'node:path'
import { msFromDuration, reachOf } from '@steeple/contracts'
import { suggestion } from './did-you-mean.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

const MAX_PORT = 65_535
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** `:8080` (every IPv4 interface), `0.0.0.0:8080`, `localhost:8080` or `[::1]:8080`; undefined when it is none. Port 0 takes a free one. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(text)
  if (match === null) return undefined
  const host = match[1] ?? ''
  const port = Number(match[2])
  if (port > MAX_PORT || !isHost(host)) return undefined
  return { host: host === '' ? '0.0.0.0' : host.replaceAll(/[[\]]/g, ''), port }
}

/** Whether a host is this machine alone: 127.0.0.0/8 (RFC 1122 §3.2.1.3), ::1 (RFC 4291 §2.5.3), localhost (RFC 6761 §6.3). */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.')
  if (isIPv6(host)) return URL.parse(`http://[${host}]`)?.hostname === '[::1]'
  return host.toLowerCase() === 'localhost'
}

/** Whether a text is a host name, RFC 1123 §2.1. All digits and dots is one, too: ask for an address first. */
function isHostName(text: string): boolean {
  return HOST_NAME.test(text)
}

function isHost(host: string): boolean {
  if (host.startsWith('[')) return isIPv6(host.slice(1, -1))
  // All digits and dots is meant as an address: 300.0.0.1 is no name.
  return host === '' || isIPv4(host) || (!/^[\d.]+$/.test(host) && isHostName(host))
}

/** Whether a text is an address and a prefix length, `10.0.0.0/8` or `fc00::/7`. */
function isCidr(text: string): boolean {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(text)
  if (match === null) return false
  const family = isIP(match[1] ?? '')
  const length = Number(match[2])
  return (family === 4 && length <= 32) || (family === 6 && length <= 128)
}

/** What the checks look at outside the configuration. */
export interface ConfigSurroundings {
  /** Names of the network interfaces of this machine. */
  interfaces(): readonly string[]
  /** Whether `svc node init` has made the keys of that data directory. */
  hasNodeKeys(dataDir: string): boolean
  /** Whether a folder is there or can be made: what of its path is there is a folder. */
  canBeFolder(path: string): boolean
  /** What is wrong with a certificate and its key in those files, said of which; undefined for nothing. */
  certificateProblem(certFile: string, keyFile: string): FileProblem | undefined
}

/** What a `format` asks of a text. The empty text is "not set" and fits each; `minLength: 1` forbids it. */
export interface Form {
  readonly words: string
  is(text: string): boolean
  /** What `is` depends on beside the text. */
  readonly key?: string
  /** What may have been meant. */
  hint?(text: string): string
}

/** Directories that belong to the system; a folder of one's own may lie below one. */
const SYSTEM_DIRS: readonly string[] =
  '/ /bin /boot /dev /etc /home /lib /lib64 /proc /root /run /sbin /sys /tmp /usr /var'.split(' ')

/** The formats that a schema of the configuration may name, by name. `metrics`, `rules`: every one that is declared, `taken` those that no other may be called. */
export function formsOf(
  surroundings: ConfigSurroundings,
  metrics: readonly string[],
  rules: readonly string[],
  taken: readonly string[] = rules,
): Readonly<Record<string, Form>> {
  const hasPlace = (url: string): boolean =>
    !url.startsWith('sqlite:') || surroundings.canBeFolder(dirname(url.slice('sqlite:'.length)))
  return {
    duration: {
      words: 'a duration such as 15s, 5m or 1h30m (more than 0, at most 100 years)',
      is: (text) => msFromDuration(text) !== undefined,
    },
    'listen-address': {
      words: 'an address such as :8080, 0.0.0.0:8080, localhost:8080 or [::1]:8080 with a port of 0 to 65535',
      is: (text) => parseListenAddress(text) !== undefined,
    },
    'loopback-address': {
      words: 'an address of this machine alone, such as 127.0.0.1:8081, [::1]:8081 or localhost:8081',
      is: (text) => isLoopback(parseListenAddress(text)?.host ?? ''),
    },
    'store-url': {
      words:
        'sqlite:<path of a file> or postgres://<host>:<port>/<database> (a store in memory would lose everything)',
      is: (text) => isStoreUrl(text) && hasPlace(text),
      hint: (text) => (hasPlace(text) ? '' : ' A file lies in the way of its folder.'),
    },
    url: {
      words: 'a URL that begins with http:// or https://',
      is: (text) => /^https?:\/\//.test(text) && URL.canParse(text),
    },
    'https-url': {
      words: 'a URL that begins with https://',
      is: (text) => text.startsWith('https://') && URL.canParse(text),
    },
    'webhook-url': {
      words:
        'a URL that begins with http:// or https://, at an address that is not link-local, reserved or of a metadata service',
      is: (text) => /^https?:\/\//.test(text) && URL.canParse(text) && !isNeverReached(new URL(text)),
    },
    cidr: { words: 'an address range such as 10.0.0.0/8 or fc00::/7', is: isCidr },
    ipv4: { words: 'an IPv4 address', is: isIPv4 },
    ip: {
      words: 'an IPv4 or IPv6 address',
      is: (text) => isIPv4(text) || (isIPv6(text) && !text.includes('%')),
    },
    host: {
      words: 'an IPv4 address or a host name',
      is: (text) => isIP(text) === 4 || (!/^[\d.]+$/.test(text) && isHostName(text)),
    },
    'host-port': {
      words:
        'a host name or an IPv4 address, with a port of 1 to 65535 if it is not 443, such as smdp.example.org or 10.0.0.1:8443',
      is: isHostPort,
    },
    folder: {
      words: 'the absolute path of a separate folder, not one of the system',
      is: (text) => posix.isAbsolute(text) && !SYSTEM_DIRS.includes(posix.resolve(text)),
    },
    'own-folder': {
      words: 'the path of a folder that exists or can be created',
      is: (text) => surroundings.canBeFolder(text),
    },
    interface: {
      words: 'a network interface of this machine',
      is: (text) => surroundings.interfaces().includes(text),
      hint: () => ` It has ${surroundings.interfaces().join(', ')}.`,
    },
    'time-zone': {
      words: 'a time zone of the IANA database such as Europe/Berlin or UTC',
      is: isTimeZone,
    },
    metric: {
      words: 'a metric that the service or a plugin declares',
      is: (text) => metrics.includes(text),
      key: metrics.join(),
      hint: (text) => suggestion(text, metrics),
    },
    'built-in-rule': {
      words: 'an alert rule of this service or of a plugin',
      is: (text) => rules.includes(text),
      key: rules.join(),
      hint: (text) => suggestion(text, rules),
    },
    'own-rule': {
      words: 'not the name of a built-in rule',
      is: (text) => !taken.includes(text),
      key: taken.join(),
    },
  }
}

/** Whether its host is an address that nobody is sent to, whatever the configuration allows. A name may lead anywhere. */
function isNeverReached({ hostname }: URL): boolean {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) !== 0 && reachOf(address) === 'forbidden'
}

function isHostPort(text: string): boolean {
  const [, host = '', port] = /^([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  const isHost = isIP(host) === 4 || (!/^[\d.]+$/.test(host) && isHostName(host))
  return isHost && (port === undefined || (Number(port) >= 1 && Number(port) <= 65_535))
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function isStoreUrl(url: string): boolean {
  if (url.startsWith('sqlite:')) return url !== 'sqlite:' && url !== 'sqlite::memory:'
  if (!/^postgres(ql)?:\/\//.test(url)) return false
  const parsed = URL.parse(url)
  return parsed !== null && parsed.pathname.length > 1
}

/** What the checks see of this machine. */
export function systemSurroundings(): ConfigSurroundings {
  return {
    interfaces: interfaceNames,
    hasNodeKeys: (dataDir) => existsSync(join(dataDir, 'keys', 'node.key')),
    canBeFolder,
    certificateProblem,
  }
}

function canBeFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // What this account may not see is left to the one that starts the service.
    return code === 'EACCES' || (code === 'ENOENT' && canBeFolder(dirname(resolve(path))))
  }
}

/** Interfaces without an address are only in sysfs. */
function interfaceNames(): readonly string[] {
  try {
    return readdirSync('/sys/class/net')
  } catch {
    return Object.keys(networkInterfaces())
  }
}

/** What is wrong with one of the two files. Holds nothing of a key. */
export interface FileProblem {
  readonly file: 'cert_file' | 'key_file'
  readonly message: string
}

/** A certificate with those above it, and its key: PEM. */
export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

/** Reads and checks both files. The certificate of the listener stands first in its file (RFC 8446 §4.4.2). */
export function readCertificateFiles(certFile: string, keyFile: string): CertificateFiles | FileProblem {
  const cert = textOf('cert_file', certFile)
  if (typeof cert !== 'string') return cert
  const key = textOf('key_file', keyFile)
  if (typeof key !== 'string') return key
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch {
    return { file: 'cert_file', message: `is ${certFile}, which holds no certificate (PEM)` }
  }
  let privateKey: KeyObject
  try {
    privateKey = createPrivateKey(key)
  } catch {
    return {
      file: 'key_file',
      message: `is ${keyFile}, which holds no private key (PEM, without a passphrase)`,
    }
  }
  if (certificate.checkPrivateKey(privateKey)) return { cert, key }
  return {
    file: 'key_file',
    message: `is ${keyFile}, which is not the key of the first certificate in ${certFile}`,
  }
}

/** As `readCertificateFiles`; undefined when nothing is wrong. */
function certificateProblem(certFile: string, keyFile: string): FileProblem | undefined {
  const read = readCertificateFiles(certFile, keyFile)
  return 'file' in read ? read : undefined
}

function textOf(file: FileProblem['file'], path: string): string | FileProblem {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const { code = 'it cannot be read' } = error as NodeJS.ErrnoException
    return { file, message: `is ${path}, which cannot be read (${code})` }
  }
}
