import { generateKeyPairSync } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AnswerOf } from '@steeple/client'
import type { CommandList } from '@steeple/contracts'
import { Option } from 'commander'
import type { ConnectionOptions } from '../client/credentials.ts'
import { connect, type Json } from '../client/service.ts'
import { failure, usageError } from '../command-error.ts'
import { jsonText, type PrintOptions, printList, printRecord } from '../output/print.ts'
import { fields } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'
import type { CommandEntry } from './api-commands.ts'
import { gathered, restCommand } from './options.ts'

interface InitOptions extends ConnectionOptions {
  readonly host?: string
  readonly curve?: readonly (typeof CURVES)[number][]
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

/** Says what is wrong with a name that is none. */
const CERT = {
  to: 'path.id',
  pattern: '^[0-9a-f]{64}$',
  refusal: 'a certificate is named by its id, 64 hexadecimal digits; svc esim certs list shows them',
} as const
const CERTS = '/v1/esim/certs'

/** By whether it is revoked, in use and of a CI whose key is published. */
const USED = {
  'true true true': 'revoked',
  'true true false': 'revoked',
  'true false true': 'revoked',
  'true false false': 'revoked',
  'false false true': '',
  'false false false': '',
  'false true true': 'for tests',
  'false true false': 'yes',
}

const COLUMNS: CommandList['columns'] = [
  { value: 'role', fit: 'whole' },
  { value: 'curve', fit: 'whole' },
  { title: 'KEY', value: 'has_key', words: { true: 'yes', false: '' } },
  { title: 'IN USE', value: '{revoked} {in_use} {is_test}', words: USED },
  { title: 'UNTIL', value: 'not_after' },
  'hosts',
  'subject',
  'id',
]

/** `svc esim certs init|list|show|export-ci|import|remove|revoke|lab-eum` */
export const CERT_COMMANDS: readonly CommandEntry[] = [
  { group: 'esim certs', summary: 'certificates that the SM-DP+ signs and serves with' },
  (program, terminal) =>
    restCommand(
      program,
      'esim certs init',
      'make an own test hierarchy: a CI and all below it. Phones that are sold accept none of it',
    )
      .option('--host <name>', 'under which phones reach the SM-DP+; that of esim.smdp_address when absent')
      .option('--curve <curve>', 'P-256 or brainpoolP256r1; both when absent', gathered)
      .option('--force', 'also beside certificates that are there; the new ones come first')
      .action((options: InitOptions) => init(terminal, options)),
  {
    usage: 'esim certs list',
    summary: 'the certificates, newest first',
    operation: `GET ${CERTS}`,
    list: { key: 'certs', columns: COLUMNS },
  },
  {
    usage: 'esim certs show <id>',
    summary: 'one certificate with its PEM',
    operation: `GET ${CERTS}/{id}`,
    arguments: { id: CERT },
  },
  (program, terminal) => {
    restCommand(
      program,
      'esim certs export-ci',
      'the CI certificates in use, as PEM: what test eUICCs have to know',
    )
      .addOption(new Option('--curve <curve>', 'of this curve alone').choices(CURVES))
      .action((options: ExportOptions) => exportCi(terminal, options))
    restCommand(
      program,
      'esim certs import <files...>',
      'take certificates and their keys, and revocation lists (PEM or DER), or folders of them; all or none',
    )
      .option('--force', 'also a CI whose private key is published (SGP.26) beside another one')
      .action((files: readonly string[], options: ImportOptions) => importFiles(terminal, files, options))
    restCommand(program, 'esim certs remove <id>', 'remove a certificate and its key').action(
      async (id: string, options: ConnectionOptions) => {
        await connect(terminal, options).delete('/v1/esim/certs/{id}', { path: { id: certId(id) } })
        terminal.err('removed\n')
      },
    )
    restCommand(
      program,
      'esim certs revoke [id]',
      'believe a certificate no more: eUICCs below it get nothing; one that is not listed by --issuer and --serial',
    )
      .option('--issuer <key id>', 'key identifier of its issuer, hexadecimal')
      .option('--serial <number>', 'its serial number, hexadecimal')
      .option('--restore', 'believe it again, when that was a mistake')
      .action((id: string | undefined, options: RevokeOptions) => revoke(terminal, id, options))
    restCommand(
      program,
      'esim certs lab-eum',
      'sign for a maker of eUICCs in software, for a lab: whoever has its file can read the keys of profiles it downloads',
    )
      .requiredOption(
        '--out <file>',
        'where to write it with its keys: the eum.json of whoever makes the eUICCs',
      )
      .addOption(new Option('--curve <curve>', 'on this curve alone').choices(CURVES))
      .action((options: LabEumOptions) => labEum(terminal, options))
  },
]

function certId(id: string): string {
  if (new RegExp(CERT.pattern).test(id)) return id
  throw usageError(CERT.refusal)
}

async function revoke(terminal: Terminal, id: string | undefined, options: RevokeOptions): Promise<void> {
  const { issuer, serial, restore } = options
  if (id !== undefined) certId(id)
  if ((id === undefined) !== (issuer !== undefined && serial !== undefined))
    throw usageError('name the certificate by its id, or by --issuer and --serial')
  const body = { id, issuer, serial, restore }
  const { data } = await connect(terminal, options).post('/v1/esim/certs/revoke', { body })
  printRecord(terminal, options, data)
}

async function init(
  terminal: Terminal,
  { host, curve: curves, force, ...options }: InitOptions,
): Promise<void> {
  const body = { host, curves, force }
  const { data } = await connect(terminal, options).post('/v1/esim/certs/init', { body })
  shown(terminal, options, data)
}

function shown(
  terminal: Terminal,
  options: PrintOptions,
  body: AnswerOf<'POST', '/v1/esim/certs/init'>,
): void {
  if (options.json === true) printRecord(terminal, options, body)
  else printList<Json>(terminal, options, { key: 'certs', rows: body.certs, nextCursor: null }, COLUMNS)
  if (options.json !== true && body.certs.some((row) => row.is_test))
    terminal.err(
      'The private key of this CI is published: whoever has it can make eUICCs, and read profiles. Issue SIMs for tests alone.\n',
    )
}

async function exportCi(terminal: Terminal, options: ExportOptions): Promise<void> {
  const service = connect(terminal, options)
  const { rows } = await service.list(CERTS, 'certs', MOST)
  const cis = rows.filter(
    ({ role, in_use: isUsed, curve }) => role === 'ci' && isUsed && curve === (options.curve ?? curve),
  )
  if (cis.length === 0)
    throw failure(
      'no_ci',
      'no CI is in use; svc esim certs init makes one for a lab, svc esim certs list shows what is there',
    )
  const exported = await Promise.all(
    cis.map(async ({ id }) => (await service.get('/v1/esim/certs/{id}', { path: { id } })).data),
  )
  terminal.out(
    options.json === true ? jsonText({ certs: exported }) : exported.map(({ pem }) => pem).join(''),
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
  const body = { files, force }
  shown(terminal, options, (await connect(terminal, options).post('/v1/esim/certs/import', { body })).data)
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
  const public_keys = pairs.map(({ publicKey }) =>
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  )
  const { data } = await connect(terminal, options).post('/v1/esim/certs/lab-eum', { body: { public_keys } })
  const eums = data.eums.map((eum) => {
    const pair = pairs.find(({ curve }) => curve === eum.curve)
    return { ...eum, key: pair?.privateKey.export({ format: 'pem', type: 'pkcs8' }) }
  })
  await writeSecret(out, jsonText({ eums }))
  if (options.json === true) terminal.out(jsonText({ file: out, curves }))
  else terminal.out(fields({ file: out, curves: curves.join(', ') }))
}
