import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { baseUrl } from '../client/credentials.ts'
import { IDENTITY_FILES, identityFolder } from '../client/identity.ts'
import { connect, type Json } from '../client/rest-client.ts'
import { failure } from '../command-error.ts'
import type { CertOptions } from '../commands/user-cert.ts'
import { pathOfUser } from '../commands/user-id.ts'
import { jsonText } from '../output/print.ts'
import { fields } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import { certificateRequest } from './certificate-request.ts'
import { pkcs12 } from './pkcs12.ts'

/** 120 bits: nobody guesses the passphrase of an archive that was copied. */
const PASSPHRASE_BYTES = 15

/**
 * `svc user cert NAME`: makes a key here, has the service sign it, and writes both with modes 0600: `NAME.pem`, `NAME.key`,
 * `NAME-ca.pem`; `NAME.p12` with `--p12`; into the place where commands look with `--use`.
 *
 * The key leaves this process for those files alone.
 */
export async function makeCertificate(terminal: Terminal, name: string, options: CertOptions): Promise<void> {
  const folder = options.use === true ? ownFolder(terminal) : resolve(terminal.cwd, options.out ?? '.')
  await makeFolder(folder)
  const client = connect(terminal, options)
  const path = await pathOfUser(client, name)
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { body } = await client.change('POST', `${path}/certificates`, {
    csr_pem: certificateRequest(privateKey, name),
    ...(options.label === undefined ? {} : { label: options.label }),
    ...(options.expiresIn === undefined ? {} : { expires_in: options.expiresIn }),
  })
  const files = options.use === true ? inPlace(folder) : named(folder, String(body.name))
  await writeSecret(files.key, String(privateKey.export({ format: 'pem', type: 'pkcs8' })))
  await writeSecret(files.cert, String(body.certificate_pem))
  await writeSecret(files.ca, String(body.ca_pem))
  if (options.use === true) {
    const { body: status } = await client.get('/v1/status')
    const box = { url: baseUrl(terminal, options).origin, node_id: status.node_id }
    await writeSecret(join(folder, IDENTITY_FILES.box), jsonText(box))
  }
  const passphrase = options.p12 === true ? await writeArchive(files.p12, privateKey, body) : undefined
  tell(terminal, options, body, { ...files, passphrase })
}

interface Files {
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly p12: string
}

function named(folder: string, name: string): Files {
  const at = join(folder, name)
  return { cert: `${at}.pem`, key: `${at}.key`, ca: `${at}-ca.pem`, p12: `${at}.p12` }
}

function inPlace(folder: string): Files {
  const at = (file: string): string => join(folder, file)
  const { cert, key, ca } = IDENTITY_FILES
  return { cert: at(cert), key: at(key), ca: at(ca), p12: at('browser.p12') }
}

function ownFolder(terminal: Terminal): string {
  const folder = identityFolder(terminal)
  if (folder === undefined) throw failure('no_home', 'HOME is not set; give --out DIR in the place of --use')
  return folder
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw failure('cannot_write', `${folder} cannot be made: ${(cause as Error).message}`, { cause })
  }
}

async function writeArchive(file: string, privateKey: KeyObject, body: Json): Promise<string> {
  const passphrase = randomBytes(PASSPHRASE_BYTES).toString('base64url')
  const content = {
    privateKey,
    certificate: String(body.certificate_pem),
    ca: String(body.ca_pem),
    name: `${String(body.name)} (svc)`,
  }
  await writeSecret(file, pkcs12(content, passphrase))
  return passphrase
}

function tell(
  terminal: Terminal,
  options: CertOptions,
  { serial, name, expires_at }: Json,
  made: Files & { readonly passphrase: string | undefined },
): void {
  const archive = made.passphrase === undefined ? {} : { p12_file: made.p12, passphrase: made.passphrase }
  const shown = {
    name,
    serial,
    expires_at,
    cert_file: made.cert,
    key_file: made.key,
    ca_file: made.ca,
    ...archive,
  }
  terminal.out(options.json === true ? jsonText(shown) : fields(shown))
  if (made.passphrase !== undefined)
    terminal.err('The passphrase of the .p12 is shown once. Keep it until the browser has taken the file.\n')
}
