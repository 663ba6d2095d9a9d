import { existsSync, readdirSync, statSync } from 'node:fs'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname, join, posix, resolve } from 'node:path'
import { msFromDuration, reachOf } from '@steeple/contracts'
import { certificateProblem, type FileProblem } from './certificate-files.ts'
import { suggestion } from './did-you-mean.ts'
import { isCidr, isHostName, isLoopback, parseListenAddress } from './network-syntax.ts'

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

/** The formats that a schema of the configuration may name, by name. `metrics`: every one that is declared. */
export function formsOf(
  surroundings: ConfigSurroundings,
  metrics: readonly string[],
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
        'sqlite:<path of a file> or postgres://<host>:<port>/<database>; a store in memory forgets everything',
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
        'a URL that begins with http:// or https://, and not at an address that is link-local, of a metadata service or reserved',
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
      words: 'the absolute path of a folder of its own, not of one of the system',
      is: (text) => posix.isAbsolute(text) && !SYSTEM_DIRS.includes(posix.resolve(text)),
    },
    'own-folder': {
      words: 'the path of a folder that is there or can be made, where no file lies in its way',
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
