import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Commands, jsonIn } from '@steeple/contracts'

/** What the commands of this plugin do, by their words. */
export const commands: Commands = {
  'group set': async (host) => {
    const { name, file } = host.typed
    const path = resolve(host.cwd, String(file))
    const text = await readFile(path, 'utf8').catch((cause: unknown) => {
      throw host.unreadable(path, cause)
    })
    const body = jsonIn(text)
    if (body === undefined) throw host.usage(`${path} is no JSON`)
    host.printRecord(await host.call('PUT /v1/groups/{name}', { path: { name }, body: body as object }))
  },
  'group permit': async (host) => {
    const { part, none } = host.typed
    const permitted = Array.isArray(part) ? part : []
    if ((permitted.length === 0) !== (none === true))
      throw host.usage('name the parts that the hub may set, or give --none')
    host.printRecord(await host.call('PUT /v1/steering', { body: { permitted } }))
  },
}
