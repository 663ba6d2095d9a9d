import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Commands, isRecord, jsonIn, readSigningKey, writeNewFile } from '@steeple/contracts'
import { signLicense } from './routes/signed-license.ts'

const PATH = '/v1/policy/license/documents'

type Host = Parameters<Commands[string]>[0]

async function textOf(host: Host, path: string): Promise<string> {
  return await readFile(path, 'utf8').catch((cause: unknown) => {
    throw host.unreadable(path, cause)
  })
}

/** `svc policy license attach|download|sign|take` */
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
  'policy license sign': async (host) => {
    const path = resolve(host.cwd, String(host.typed.file))
    const text = await textOf(host, path)
    const { key: keyFile, output = `${path.replace(/\.json$/, '')}.signed.json` } = host.typed
    const target = resolve(host.cwd, String(output))
    const refuse = (error: Error): never => {
      throw host.usage(error.message)
    }
    const key = await readSigningKey(resolve(host.cwd, String(keyFile))).catch(refuse)
    const signed = await Promise.resolve()
      .then(() => signLicense(text, key))
      .catch(refuse)
    await writeNewFile(target, `${JSON.stringify(signed, undefined, 2)}\n`, { mode: 0o644 }).catch(
      (cause) => {
        throw host.failure(
          'file_unwritable',
          `${target} cannot be written: ${cause.message}`,
          'name another file with --output',
          cause,
        )
      },
    )
    host.out(host.isJson ? host.json({ file: target, key: key.publicKey }) : `${target}\n`)
  },
  'policy license take': async (host) => {
    const path = resolve(host.cwd, String(host.typed.file))
    const body = jsonIn(await textOf(host, path))
    if (!isRecord(body))
      throw host.usage(`${path} is no JSON; svc policy license sign writes a signed licence`)
    host.printRecord(await host.call('POST /v1/policy/license/signed', { body }))
  },
}
