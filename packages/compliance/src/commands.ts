import { X509Certificate } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { CommandHost, Commands } from '@steeple/contracts'
import { type FileFindings, verifyFile } from './file/verify.ts'

/** `svc compliance export|verify`, `svc sim forget` */
export const commands: Commands = {
  'compliance export': async (host) => {
    const { from, to, kinds, output } = host.typed
    const opened = await host.open('GET /v1/compliance/export', { query: { from, to, kinds } })
    const target = { file: output as string | undefined, fallback: 'svc-compliance.csv' }
    const { path, bytes } = await host.save('export', opened, target)
    host.out(host.isJson ? host.json({ file: path, bytes }) : `${path}: ${bytes} bytes\n`)
  },
  'compliance verify': verifyExport,
  'sim forget': async (host) => {
    const { hash, revoke, reason, withoutCore: without_core } = host.typed
    const imsi = host.simHash(String(hash))
    const body = { revoke, without_core, reason }
    const data = await host.call('POST /v1/sims/{imsi}/forget', { path: { imsi }, body })
    host.out(host.isJson ? host.json(data) : `${imsi}: ${forgotten(host, data)}\n`)
  },
}

function forgotten(
  { printable }: CommandHost,
  { status, waits_for: why }: Readonly<Record<string, unknown>>,
): string {
  if (status === 'erased') return 'erased; what a core still has is to be removed there'
  const what = why === null ? '' : ` (${printable(String(why))})`
  return `erased but for its IMSI, and that as soon as HSS and core have let it go${what}; svc compliance erasures lists it till then`
}

/** Needs the file and a certificate, and no service; exit code 1 when something is wrong. */
async function verifyExport(host: CommandHost): Promise<void> {
  const trusted = await trustedHere(host)
  const path = resolve(host.cwd, String(host.typed.file))
  const findings = await verifyFile(createReadStream(path), trusted).catch((cause: unknown) => {
    throw host.unreadable(path, cause)
  })
  if (host.isJson) host.out(host.json(recordOf(findings)))
  else if (findings.problems.length === 0)
    host.out(`ok: the file is what its node made\n\n${about(host, findings)}`)
  // A problem quotes the file, and whoever forged it would like to write the verdict.
  else host.err(findings.problems.map((problem) => `wrong: ${host.printable(problem)}\n`).join(''))
  if (findings.problems.length > 0) host.answer(1)
}

function recordOf({ problems, rows, manifest, caSha256 }: FileFindings): object {
  return {
    ok: problems.length === 0,
    problems,
    rows,
    node_id: manifest?.node_id ?? null,
    made_at: manifest?.made_at ?? null,
    from: manifest?.from ?? null,
    to: manifest?.to ?? null,
    kinds: manifest?.kinds ?? null,
    audit_head: manifest?.audit_head ?? null,
    ca_sha256: caSha256 ?? null,
  }
}

function about({ fields }: CommandHost, { rows, manifest, caSha256 }: FileFindings): string {
  if (manifest === undefined) return ''
  return fields({
    node: `${manifest.node_id} (${manifest.node_name})`,
    made: manifest.made_at,
    from: manifest.from,
    to: manifest.to,
    kinds: manifest.kinds.join(', '),
    rows,
    'audit trail': `entry ${manifest.audit_head.seq}, hash ${manifest.audit_head.hash}`,
    'CA SHA-256': caSha256,
  })
}

/** What was named, or the CAs that this machine knows: its own, and that of the mesh that it is in. */
async function trustedHere(host: CommandHost): Promise<readonly X509Certificate[]> {
  const { trust } = host.typed
  if (typeof trust === 'string') return await certificatesIn(host, resolve(host.cwd, trust))
  const { server } = await host.settings()
  const keys = join(server.data_dir, 'keys')
  const found = await Promise.all(
    [join(keys, 'mesh-ca.pem'), join(keys, 'mesh', 'ca.pem')].map((path) =>
      certificatesIn(host, path).catch(() => []),
    ),
  )
  const trusted = found.flat()
  if (trusted.length > 0) return trusted
  throw host.failure(
    'nothing_trusted',
    'there is no certificate to check the signature with',
    "name the CA of the node, or the node's certificate: --trust FILE (on the node: keys/mesh-ca.pem)",
  )
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

async function certificatesIn(
  { unreadable }: CommandHost,
  path: string,
): Promise<readonly X509Certificate[]> {
  try {
    const found = (await readFile(path, 'utf8')).match(PEM) ?? []
    if (found.length === 0) throw new Error('there is no certificate in it')
    return found.map((pem) => new X509Certificate(pem))
  } catch (cause) {
    throw unreadable(path, cause)
  }
}
