import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemPrincipal } from '@steeple/contracts'
import { DROPPED } from '../store/rows.ts'
import { type CertFile, MAX_OCTETS, readFiles } from './files.ts'
import { type CertParts, keepCertificates, keepRevocations } from './keep.ts'
import { planImport } from './plan-import.ts'

/** Endings of files that are looked at; whatever else lies there is left alone. */
const ENDING = /\.(pem|der|crt|cer|crl|key)$/i
const MOST_FILES = 500

/**
 * Imports what lies in `esim.certs_dir`, and says in the log which files are refused. Gives the number of those; undefined
 * when the folder cannot be read. The good ones come in whatever the others are, but
 * for those that somebody has removed by hand.
 */
export async function importFolder(parts: CertParts): Promise<number | undefined> {
  const { context, certs } = parts
  const folder = context.config.certs_dir
  if (folder === '') return 0
  const files = await filesIn(folder).catch((error: unknown) => {
    context.log.warn({ folder, err: String(error) }, 'esim.certs_dir cannot be read')
    return undefined
  })
  if (files === undefined) return undefined
  const dropped = new Set((await DROPPED.select(context.db, '')).map(({ id }) => id))
  const plan = planImport(readFiles(files), certs.all(), {
    nowMs: context.clock.nowMs(),
    left: dropped,
    revoked: certs.revoked(),
  })
  for (const { file, problem } of plan.problems)
    context.log.warn({ file, problem }, 'file of esim.certs_dir refused')
  if (plan.added.length + plan.revoked.length > 0) {
    await context.mutate(systemPrincipal('esim-smdp'), 'esim_cert.import', folder, async (tx) => {
      await keepCertificates(tx, parts, plan.added)
      await keepRevocations(tx, parts, plan.revoked, 'list')
    })
    await certs.reload()
  }
  return plan.problems.length
}

async function filesIn(folder: string): Promise<readonly CertFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile() && ENDING.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .slice(0, MOST_FILES)
  return await Promise.all(paths.map(async (name) => ({ name, octets: await octetsOf(name) })))
}

/** At most one more than is read: a file of another kind may have any size. */
async function octetsOf(path: string): Promise<Uint8Array> {
  const { size } = await stat(path)
  return size > MAX_OCTETS ? new Uint8Array(MAX_OCTETS + 1) : await readFile(path)
}
