import { X509Certificate } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type FileFindings, verifyFile } from '@steeple/compliance/file'
import { failure, unreadable } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { fields, printable } from '../output/table.ts'
import { type PlaceOptions, settingsHere } from '../place.ts'
import type { Terminal } from '../terminal.ts'

interface VerifyOptions extends PlaceOptions {
  readonly trust?: string
  readonly json?: boolean
}

/** `svc compliance verify`: needs the file and a certificate, and no service; exit code 1 when something is wrong. */
export async function verifyExport(terminal: Terminal, file: string, options: VerifyOptions): Promise<void> {
  const trusted = await trustedHere(terminal, options)
  const path = resolve(terminal.cwd, file)
  const findings = await verifyFile(createReadStream(path), trusted).catch((cause: unknown) => {
    throw unreadable(path, cause)
  })
  if (options.json === true) terminal.out(jsonText(recordOf(findings)))
  else if (findings.problems.length === 0)
    terminal.out(`ok: the file is what its node made\n\n${about(findings)}`)
  // A problem quotes the file, and whoever forged it would like to write the verdict.
  else terminal.err(findings.problems.map((problem) => `wrong: ${printable(problem)}\n`).join(''))
  if (findings.problems.length > 0) terminal.answer(1)
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

function about({ rows, manifest, caSha256 }: FileFindings): string {
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
async function trustedHere(terminal: Terminal, options: VerifyOptions): Promise<readonly X509Certificate[]> {
  if (options.trust !== undefined) return await certificatesIn(resolve(terminal.cwd, options.trust))
  const { server } = await settingsHere(terminal, options)
  const keys = join(server.data_dir, 'keys')
  const found = await Promise.all(
    [join(keys, 'mesh-ca.pem'), join(keys, 'mesh', 'ca.pem')].map((path) =>
      certificatesIn(path).catch(() => []),
    ),
  )
  const trusted = found.flat()
  if (trusted.length > 0) return trusted
  throw failure('nothing_trusted', 'it is not known whose signature to believe', {
    hint: "name the CA of the node, or the node's certificate: --trust FILE (on the node: keys/mesh-ca.pem)",
  })
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

async function certificatesIn(path: string): Promise<readonly X509Certificate[]> {
  try {
    const found = (await readFile(path, 'utf8')).match(PEM) ?? []
    if (found.length === 0) throw new Error('there is no certificate in it')
    return found.map((pem) => new X509Certificate(pem))
  } catch (cause) {
    throw unreadable(path, cause)
  }
}
