import { generateKeyPairSync } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { CommandColumn, CommandHost, Commands } from '@steeple/contracts'

const CURVES = ['P-256', 'brainpoolP256r1'] as const
/** A page of the list at its largest: more than a service ever has. */
const MOST = 500
/** Certificates, revocation lists and keys by their usual endings; others in a folder are left alone. */
const ENDINGS = /\.(pem|der|crt|cer|crl|key)$/i
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
const COLUMNS: readonly (string | CommandColumn)[] = [
  { value: 'role', fit: 'whole' },
  { value: 'curve', fit: 'whole' },
  { title: 'KEY', value: 'has_key', words: { true: 'yes', false: '' } },
  { title: 'IN USE', value: '{revoked} {in_use} {is_test}', words: USED },
  { title: 'UNTIL', value: 'not_after' },
  'hosts',
  'subject',
  'id',
]

/** `svc esim certs init|export-ci|import|remove|revoke|lab-eum` */
export const certCommands: Commands = {
  'esim certs init': async (host) => {
    const { host: name, curve: curves, force } = host.typed
    shown(host, await host.call('POST /v1/esim/certs/init', { body: { host: name, curves, force } }))
  },
  'esim certs export-ci': async (host) => {
    const { rows } = await host.list('GET /v1/esim/certs', 'certs', MOST)
    const only = host.typed.curve
    const cis = rows.filter(
      ({ role, in_use: isUsed, curve }) => role === 'ci' && isUsed === true && curve === (only ?? curve),
    )
    if (cis.length === 0)
      throw host.failure(
        'no_ci',
        'no CI is in use; svc esim certs init makes one for a lab, svc esim certs list shows what is there',
      )
    const certs = await Promise.all(
      cis.map(({ id }) => host.call('GET /v1/esim/certs/{id}', { path: { id } })),
    )
    host.out(host.isJson ? host.json({ certs }) : certs.map(({ pem }) => String(pem)).join(''))
  },
  'esim certs import': async (host) => {
    const names = host.typed.files as readonly string[] // several, as its usage says
    const paths = (await Promise.all(names.map((name) => filesAt(host, name)))).flat()
    const files = await Promise.all(
      paths.map(async (path) => ({
        name: basename(path),
        base64: (await readFile(path)).toString('base64'),
      })),
    )
    const body = { files, force: host.typed.force }
    shown(host, await host.call('POST /v1/esim/certs/import', { body }))
  },
  'esim certs remove': async ({ typed, call, err }) => {
    await call('DELETE /v1/esim/certs/{id}', { path: { id: typed.id } })
    err('removed\n')
  },
  'esim certs revoke': async (host) => {
    const { id, issuer, serial, restore } = host.typed
    if ((id === undefined) !== (issuer !== undefined && serial !== undefined))
      throw host.usage('name the certificate by its id, or by --issuer and --serial')
    const body = { id, issuer, serial, restore }
    host.printRecord(await host.call('POST /v1/esim/certs/revoke', { body }))
  },
  'esim certs lab-eum': labEum,
}

function shown(host: CommandHost, data: Readonly<Record<string, unknown>>): void {
  if (host.isJson) {
    host.printRecord(data)
    return
  }
  const rows = data.certs as readonly Readonly<Record<string, unknown>>[] // as the routes document it
  host.printRows({ key: 'certs', rows, nextCursor: null }, COLUMNS)
  if (rows.some((row) => row.is_test === true))
    host.err(
      'The private key of this CI is published: anyone can make eUICCs with it and read profiles. Issue only SIMs for tests.\n',
    )
}

async function filesAt({ failure }: CommandHost, path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const entries = await readdir(path, { recursive: true })
    return entries.filter((entry) => ENDINGS.test(entry)).map((entry) => join(path, entry))
  } catch (error) {
    throw failure('cannot_read', `${path} cannot be read: ${error instanceof Error ? error.message : ''}`)
  }
}

async function labEum(host: CommandHost): Promise<void> {
  const { out, curve: only } = host.typed
  if (typeof out !== 'string') throw host.usage('say where to write it: --out FILE')
  const curves = CURVES.filter((curve) => only === undefined || curve === only)
  const pairs = curves.map((curve) => {
    const namedCurve = curve === 'P-256' ? 'prime256v1' : curve
    return { curve, ...generateKeyPairSync('ec', { namedCurve }) }
  })
  const public_keys = pairs.map(({ publicKey }) =>
    publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
  )
  const data = await host.call('POST /v1/esim/certs/lab-eum', { body: { public_keys } })
  // As the route documents it.
  const eums = (data.eums as readonly { readonly curve: string }[]).map((eum) => {
    const pair = pairs.find(({ curve }) => curve === eum.curve)
    return { ...eum, key: pair?.privateKey.export({ format: 'pem', type: 'pkcs8' }) }
  })
  await host.writeSecret(out, host.json({ eums }))
  if (host.isJson) host.out(host.json({ file: out, curves }))
  else host.out(host.fields({ file: out, curves: curves.join(', ') }))
}
