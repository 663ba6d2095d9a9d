import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whether `openssl` and `curl` are here. In CI they must be. */
export function hasTlsWitnesses(): boolean {
  const isHere = ['openssl', 'curl'].every((name) => spawnSync(name, ['version']).error === undefined)
  if (!isHere && process.env.CI === 'true')
    throw new Error('needs openssl and curl: apt install openssl curl')
  return isHere
}

/** Paths of a certificate and its key. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

/** What a program said and how it ended. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A folder in which openssl makes keys and certificates. */
export interface Workshop {
  readonly folder: string
  file(name: string, text: string): string
  /** A self-signed CA, P-256, whose subject is `CN=<name>`. */
  ca(name: string): Pair
  /** A certificate that `ca` signs with those extensions, in the syntax of openssl's configuration. */
  leaf(name: string, ca: Pair, extensions: readonly string[], times?: readonly string[]): Pair
  remove(): void
}

/** A new folder below the temporary ones. */
export function openWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-tls-witness-'))
  const at = (name: string): string => join(folder, name)
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { stdio: 'pipe' })
  }
  const newKey = (name: string): string => {
    openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', at(`${name}.key`))
    return at(`${name}.key`)
  }
  const file = (name: string, text: string): string => {
    writeFileSync(at(name), text)
    return at(name)
  }
  return {
    folder,
    file,
    ca: (name) => {
      const key = newKey(name)
      openssl(
        'req',
        '-x509',
        '-new',
        '-key',
        key,
        '-subj',
        `/CN=${name}`,
        '-days',
        '30',
        '-out',
        at(`${name}.pem`),
      )
      return { cert: at(`${name}.pem`), key }
    },
    leaf: (name, ca, extensions, times = ['-days', '7']) => {
      const key = newKey(name)
      openssl('req', '-new', '-key', key, '-subj', `/CN=${name}`, '-out', at(`${name}.csr`))
      const extfile = file(`${name}.ext`, `${extensions.join('\n')}\n`)
      const signer = ['-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial', '-CAserial', at(`${name}.srl`)]
      openssl(
        'x509',
        '-req',
        '-in',
        at(`${name}.csr`),
        ...signer,
        ...times,
        '-extfile',
        extfile,
        '-out',
        at(`${name}.pem`),
      )
      return { cert: at(`${name}.pem`), key }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Runs a program to its end with that text as its input. */
export function run(program: string, args: readonly string[], input = ''): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(program, [...args], (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input)
  })
}

/** What `openssl s_client` says of a handshake, and of what came after it. */
export async function handshakeOf(port: number, args: readonly string[], input = ''): Promise<Ended> {
  return await run('openssl', ['s_client', '-connect', `127.0.0.1:${port}`, ...args], input)
}

/** An answer as curl prints it: status, and the error code in the body. */
export async function curl(
  url: string,
  args: readonly string[],
): Promise<{ readonly exit: number; readonly status: number; readonly code: string | undefined }> {
  const { code: exit, stdout } = await run('curl', ['-sS', '-w', '\n%{http_code}', ...args, url])
  const [body = '', status = '0'] = [stdout.slice(0, stdout.lastIndexOf('\n')), stdout.split('\n').at(-1)]
  const code = /"code":"([a-z_]+)"/.exec(body)?.[1]
  return { exit, status: Number(status), code }
}
