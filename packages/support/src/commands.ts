import { basename } from 'node:path'
import type { CommandFile, CommandHost, Commands, MachineFacts } from '@steeple/contracts'
import { auditHead, bundleOf, jsonFile, machineFacts } from './bundle/archive.ts'
import { cleanText, type Scrub } from './bundle/clean-text.ts'
import { hidesOf } from './bundle/hidden-words.ts'
import { publicConfig } from './bundle/public-config.ts'

/** `svc support bundle`, `svc log-level` */
export const commands: Commands = {
  'support bundle': async (host) => {
    const { offline, output: file } = host.typed
    const opened = offline === true ? await here(host) : await host.open('GET /v1/support/bundle')
    const target = { file: file as string | undefined, fallback: 'svc-support.tar.gz' }
    const { path, bytes } = await host.save('bundle', opened, target)
    if (host.isJson) host.out(host.json({ file: path, bytes }))
    else
      host.out(`${path}: ${bytes} bytes; look into it before you give it away: tar xzf ${basename(path)}\n`)
  },
  'log-level': async (host) => {
    const { level, component, end, for: duration } = host.typed
    if (level !== undefined && end === true) throw host.usage('give a level or --end, not both')
    const wanted = end === true ? { level: null } : { level, for: duration }
    const data =
      level === undefined && end !== true
        ? await host.call('GET /v1/log-level')
        : await host.call('PUT /v1/log-level', { body: { component, ...wanted } })
    if (host.isJson) return host.printRecord(data)
    // As the routes document it.
    const { holds, components } = data as unknown as {
      readonly holds: readonly { readonly component: string | null }[]
      readonly components: readonly string[]
    }
    const rows = [
      ...holds.map((held) => ({ ...held, component: held.component ?? 'all others' })),
      { component: '(configuration)', level: data.level, until: null },
    ]
    const columns = ['component', 'level'].map((value) => ({ value, fit: 'whole' as const }))
    host.out(host.table(rows, [...columns, 'until']))
    host.out(`\ncomponents: ${components.join(', ')}\n`)
  },
}

async function here(host: CommandHost): Promise<CommandFile> {
  return { headers: { get: () => null }, body: offlineBundle(await host.machine()) }
}

/** What stands in parentheses may be what somebody typed. */
function cleanWords(text: string, scrub: Scrub): string {
  return cleanText(text, scrub).replaceAll(/\([^)]*\)/g, '(…)')
}

/** The octets of a bundle that is made beside the service, while it is down. */
function offlineBundle(parts: MachineFacts): AsyncIterable<Buffer> {
  const { nowMs, version } = parts
  // The configuration is the first that is read; what it does not show is in none of the texts after it.
  let hides: Scrub = (text) => text
  const scrub: Scrub = (text) => hides(parts.scrub(text))
  const files = [
    jsonFile('versions.json', () => ({ service: version, ...machineFacts() })),
    jsonFile('config.json', async () => {
      const { schema, settings } = await parts.config()
      hides = hidesOf(schema, settings)
      return publicConfig(schema, settings)
    }),
    jsonFile('plugins.json', async () =>
      (await parts.plugins()).map(({ plugin, version: of, origin }) => ({
        name: plugin,
        version: of,
        origin,
      })),
    ),
    jsonFile('doctor.json', async () =>
      (await parts.checks()).map(({ name, status, detail }) => ({
        name,
        status,
        detail: cleanWords(detail, scrub),
      })),
    ),
    jsonFile('audit.json', async () => {
      const newest = await parts.audit()
      return await auditHead({ list: async () => newest })
    }),
  ]
  const about = { format: 1, made_at: new Date(nowMs).toISOString(), version, offline: true }
  return bundleOf(files, about, { nowMs, reasonOf: (error) => cleanWords(String(error), scrub) })
}
