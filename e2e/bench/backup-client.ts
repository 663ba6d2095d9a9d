// Takes a backup as soon as a line comes on standard input, and says how long that took: url, file. Token and passphrase are
// in the environment, since arguments are in a list of processes.

import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

const [, , url = '', file = ''] = process.argv
const { BENCH_TOKEN: token = '', BENCH_PASSPHRASE: passphrase = '' } = process.env
process.stdout.write('ready\n')
await once(process.stdin, 'data')
const from = performance.now()
const headers = { authorization: `Bearer ${token}`, 'x-backup-passphrase': passphrase }
const response = await fetch(`${url}/v1/backup`, { headers })
if (response.status !== 200 || response.body === null)
  throw new Error(`no backup: ${response.status} ${await response.text()}`)
await pipeline(Readable.fromWeb(response.body), createWriteStream(file))
process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - from) / 1_000 })}\n`)
process.exit(0)
