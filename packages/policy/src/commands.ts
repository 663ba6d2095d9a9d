import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Commands } from '@steeple/contracts'

const PATH = '/v1/policy/license/documents'

/** `svc policy license attach|download` */
export const commands: Commands = {
  'policy license attach': async (host) => {
    const path = resolve(host.cwd, String(host.typed.file))
    const content = await readFile(path).catch((cause: unknown) => {
      throw host.unreadable(path, cause)
    })
    const body = { type: 'application/octet-stream', content }
    host.printRecord(await host.call(`POST ${PATH}`, { body }))
  },
  'policy license download': async (host) => {
    const id = String(host.typed.id)
    const opened = await host.open(`GET ${PATH}/{id}`, { path: { id } })
    const target = { file: host.typed.file as string | undefined, fallback: `licence-${id}` }
    const { path, bytes } = await host.save('download', opened, target)
    host.out(host.isJson ? host.json({ file: path, bytes }) : `${path}: ${bytes} bytes\n`)
  },
}
