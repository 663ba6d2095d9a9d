import { basename } from 'node:path'
import type { CommandFile, CommandHost, Commands } from '@steeple/contracts'
import { offlineBundle } from './offline.ts'

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
