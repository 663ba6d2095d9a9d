import type { MachineFacts } from '@steeple/contracts'
import { type BundleFile, bundleOf, jsonOf } from './bundle/archive.ts'
import { auditHead } from './bundle/audit-head.ts'
import { cleanText, type Scrub } from './bundle/clean-text.ts'
import { hidesOf } from './bundle/hidden-words.ts'
import { machineFacts } from './bundle/machine.ts'
import { publicConfig } from './bundle/public-config.ts'

/** What stands in parentheses may be what somebody typed. */
function cleanWords(text: string, scrub: Scrub): string {
  return cleanText(text, scrub).replaceAll(/\([^)]*\)/g, '(…)')
}

/** The octets of a bundle that is made beside the service, while it is down. */
export function offlineBundle(parts: MachineFacts): AsyncIterable<Buffer> {
  const { nowMs, version } = parts
  // The configuration is the first that is read; what it does not show is in none of the texts after it.
  let hides: Scrub = (text) => text
  const scrub: Scrub = (text) => hides(parts.scrub(text))
  const json = (name: string, make: () => unknown): BundleFile => ({
    name,
    make: async () => jsonOf(await make()),
  })
  const files = [
    json('versions.json', () => ({ service: version, ...machineFacts() })),
    json('config.json', async () => {
      const { schema, settings } = await parts.config()
      hides = hidesOf(schema, settings)
      return publicConfig(schema, settings)
    }),
    json('plugins.json', async () =>
      (await parts.plugins()).map(({ plugin, version: of, origin }) => ({
        name: plugin,
        version: of,
        origin,
      })),
    ),
    json('doctor.json', async () =>
      (await parts.checks()).map(({ name, status, detail }) => ({
        name,
        status,
        detail: cleanWords(detail, scrub),
      })),
    ),
    json('audit.json', async () => {
      const newest = await parts.audit()
      return await auditHead({ list: async () => newest })
    }),
  ]
  const about = { format: 1, made_at: new Date(nowMs).toISOString(), version, offline: true }
  return bundleOf(files, about, { nowMs, reasonOf: (error) => cleanWords(String(error), scrub) })
}
