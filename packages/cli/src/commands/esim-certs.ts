import { generateKeyPairSync } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Command, Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, isObject, type Json } from '../client/rest-client.ts'
import { failure, usageError } from '../command-error.ts'
import { jsonText, printList, printRecord } from '../output/print.ts'
import { fields, moment } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import { gathered, type ListOptions, limitOption, restCommand } from './options.ts'

interface InitOptions extends ConnectionOptions {
  readonly host?: string
  readonly curve?: readonly string[]
  readonly force?: boolean
}
interface ImportOptions extends ConnectionOptions {
  readonly force?: boolean
}
interface ExportOptions extends ConnectionOptions {
  readonly curve?: (typeof CURVES)[number]
}
interface RevokeOptions extends ConnectionOptions {
  readonly issuer?: string
  readonly serial?: string
  readonly restore?: boolean
}
interface LabEumOptions extends ConnectionOptions {
  readonly out?: string
  readonly curve?: (typeof CURVES)[number]
}

const CURVES = ['P-256', 'brainpoolP256r1'] as const
/** A page of the list at its largest: more than a service ever has. */
const MOST = 500
/** Certificates, revocation lists and keys by their usual endings; others in a folder are left alone. */
const ENDINGS = /\.(pem|der|crt|cer|crl|key)$/i

/** `svc esim certs init|list|show|export-ci|import|remove|revoke|lab-eum` */
export function addEsimCerts(esim: Command, terminal: Terminal): void {
  const certs = esim.command('certs').description('certificates that the SM-DP+ signs and serves with')
  restCommand(
    certs,
    'init',
    'make an own test hierarchy: a CI and all below it. Phones that are sold accept none of it',
  )
    .option('--host <name>', 'under which phones reach the SM-DP+; that of esim.smdp_address when absent')
    .option('--curve <curve>', 'P-256 or brainpoolP256r1; both when absent', gathered)
    .option('--force', 'also beside certificates that are there; the new ones come first')
    .action((options: InitOptions) => init(terminal, options))
  restCommand(certs, 'list', 'the certificates, newest first')
    .addOption(limitOption())
    .action((options: ListOptions) => list(terminal, options))
  restCommand(certs, 'show <id>', 'one certificate with its PEM').action(
    async (id: string, options: ConnectionOptions) => {
      const { body } = await connect(terminal, options).get(certPath(id))
      printRecord(terminal, options.json === true, body)
    },
  )
  restCommand(certs, 'export-ci', 'the CI certificates in use, as PEM: what test eUICCs have to know')
    .addOption(new Option('--curve <curve>', 'of this curve alone').choices(CURVES))
    .action((options: ExportOptions) => exportCi(terminal, options))
  restCommand(
    certs,
    'import <files...>',
    'take certificates and their keys, and revocation lists (PEM or DER), or folders of them; all or none',
  )
    .option('--force', 'also a CI whose private key is published (SGP.26) beside another one')
    .action((files: readonly string[], options: ImportOptions) => importFiles(terminal, files, options))
  restCommand(certs, 'remove <id>', 'remove a certificate and its key').action(
    async (id: string, options: ConnectionOptions) => {
      await connect(terminal, options).change('DELETE', certPath(id), undefined)
      terminal.err('removed\n')
    },
  )
  restCommand(
    certs,
    'revoke [id]',
    'believe a certificate no more: eUICCs below it get nothing; one that is not listed by --issuer and --serial',
  )
    .option('--issuer <key id>', 'key identifier of its issuer, hexadecimal')
    .option('--serial <number>', 'its serial number, hexadecimal')
    .option('--restore', 'believe it again, when that was a mistake')
    .action((id: string | undefined, options: RevokeOptions) => revoke(terminal, id, options))
  restCommand(
    certs,
    'lab-eum',
    'sign for a maker of eUICCs in software, for a lab: whoever has its file can read the keys of profiles it downloads',
  )
    .requiredOption(
      '--out <file>',
      'where to write it with its keys: the eum.json of whoever makes the eUICCs',
    )
    .addOption(new Option('--curve <curve>', 'on this curve alone').choices(CURVES))
    .action((options: LabEumOptions) => labEum(terminal, options))
}

function certPath(id: string): string {
  if (/^[0-9a-f]{64}$/.test(id)) return `/v1/esim/certs/${id}`
  throw usageError('a certificate is named by its id, 64 hexadecimal digits; svc esim certs list shows them')
}

async function revoke(terminal: Terminal, id: string | undefined, options: RevokeOptions): Promise<void> {
  const { issuer, serial, restore, ...connection } = options
  // Says what is wrong with it.
  if (id !== undefined) certPath(id)
  if ((id === undefined) !== (issuer !== undefined && serial !== undefined))
    throw usageError('name the certificate by its id, or by --issuer and --serial')
  const body = { id, issuer, serial, restore }
  const answer = await connect(terminal, connection).change('POST', '/v1/esim/certs/revoke', body)
  printRecord(terminal, options.json === true, answer.body)
}

async function init(terminal: Terminal, { host, curve, force, ...options }: InitOptions): Promise<void> {
  const { body } = await connect(terminal, options).change('POST', '/v1/esim/certs/init', {
    host,
    curves: curve,
    force,
  })
  shown(terminal, options.json === true, body)
}

function shown(terminal: Terminal, isJson: boolean, body: Json): void {
  const rows = Array.isArray(body.certs) ? body.certs.filter(isObject) : []
  if (isJson) terminal.out(jsonText(body))
  else printList(terminal, false, { key: 'certs', rows, nextCursor: null }, COLUMNS)
  if (!isJson && rows.some((row) => row.is_test === true))
    terminal.err(
      'The private key of this CI is published: whoever has it can make eUICCs, and read profiles. Issue SIMs for tests alone.\n',
    )
}

async function list(terminal: Terminal, options: ListOptions): Promise<void> {
  const found = await connect(terminal, options).list('/v1/esim/certs', 'certs', options.limit)
  printList(terminal, options.json === true, found, COLUMNS)
}

const COLUMNS = [
  { title: 'ROLE', value: (row: Json) => row.role, fit: 'whole' },
  { title: 'CURVE', value: (row: Json) => row.curve, fit: 'whole' },
  { title: 'KEY', value: (row: Json) => (row.has_key === true ? 'yes' : '') },
  {
    title: 'IN USE',
    value: (row: Json) => usedWord(row),
  },
  { title: 'UNTIL', value: (row: Json) => moment(row.not_after) },
  { title: 'HOSTS', value: (row: Json) => (Array.isArray(row.hosts) ? row.hosts.join(', ') : '') },
  { title: 'SUBJECT', value: (row: Json) => row.subject },
  { title: 'ID', value: (row: Json) => row.id },
] as const

function usedWord({ revoked: isRevoked, in_use: isUsed, is_test: isTest }: Json): string {
  if (isRevoked === true) return 'revoked'
  if (isUsed !== true) return ''
  return isTest === true ? 'for tests' : 'yes'
}

async function exportCi(terminal: Terminal, options: ExportOptions): Promise<void> {
  const client = connect(terminal, options)
  const { rows } = await client.list('/v1/esim/certs', 'certs', MOST)
  const cis = rows.filter(
    (row) =>
      row.role === 'ci' &&
      row.in_use === true &&
      (options.curve === undefined || row.curve === options.curve),
  )
  if (cis.length === 0)
    throw failure(
      'no_ci',
      'no CI is in use; svc esim certs init makes one for a lab, svc esim certs list shows what is there',
    )
  const exported = await Promise.all(cis.map(async ({ id }) => (await client.get(certPath(String(id)))).body))
  terminal.out(
    options.json === true ? jsonText({ certs: exported }) : exported.map(({ pem }) => String(pem)).join(''),
  )
}

async function importFiles(
  terminal: Terminal,
  names: readonly string[],
  { force, ...options }: ImportOptions,
): Promise<void> {
  const paths = (await Promise.all(names.map(filesAt))).flat()
  const files = await Promise.all(
    paths.map(async (path) => ({ name: basename(path), base64: (await readFile(path)).toString('base64') })),
  )
  const { body } = await connect(terminal, options).change('POST', '/v1/esim/certs/import', { files, force })
  shown(terminal, options.json === true, body)
}

async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const entries = await readdir(path, { recursive: true })
    return entries.filter((entry) => ENDINGS.test(entry)).map((entry) => join(path, entry))
  } catch (error) {
    throw failure('cannot_read', `${path} cannot be read: ${error instanceof Error ? error.message : ''}`)
  }
}

async function labEum(terminal: Terminal, options: LabEumOptions): Promise<void> {
  const { out = '', curve: only } = options
  const curves = only === undefined ? CURVES : [only]
  const pairs = curves.map((curve) => {
    const namedCurve = curve === 'P-256' ? 'prime256v1' : curve
    return { curve, ...generateKeyPairSync('ec', { namedCurve }) }
  })
  const { body } = await connect(terminal, options).change('POST', '/v1/esim/certs/lab-eum', {
    public_keys: pairs.map(({ publicKey }) =>
      publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    ),
  })
  const signed = Array.isArray(body.eums) ? body.eums.filter(isObject) : []
  const eums = signed.map((eum) => {
    const pair = pairs.find(({ curve }) => curve === eum.curve)
    return { ...eum, key: pair?.privateKey.export({ format: 'pem', type: 'pkcs8' }) }
  })
  await writeSecret(out, jsonText({ eums }))
  if (options.json === true) terminal.out(jsonText({ file: out, curves }))
  else terminal.out(fields({ file: out, curves: curves.join(', ') }))
}
