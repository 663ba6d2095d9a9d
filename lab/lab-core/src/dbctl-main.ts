#!/usr/bin/env node
// An open5gs-dbctl over the store of a running lab core. It only carries words there and prints what comes back.
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { HELP } from './dbctl/help.ts'

const words = process.argv.slice(2).filter((word) => !word.startsWith('--db_uri'))
// The stock tool calls that a failure.
if (words[0] === undefined || words[0] === 'help') {
  process.stdout.write(HELP)
  process.exit(1)
}
const isBatch = words[0] === 'batch'
const directory = process.env.LAB_CORE_DIR ?? 'data/lab-core'
const path = join(directory, 'dbctl.sock')
if (Buffer.byteLength(path) > 107) process.chdir(directory)
const socket = connect(Buffer.byteLength(path) > 107 ? 'dbctl.sock' : path)

socket.on('error', () => {
  process.stdout.write(
    `MongoNetworkError: no lab core serves ${path}; start it, or name its folder in LAB_CORE_DIR\n`,
  )
  process.exit(1)
})
if (isBatch) process.stdin.pipe(socket)
else socket.end(`${JSON.stringify(words)}\n`)

createInterface({ input: socket }).on('line', (line) => {
  const { code, output } = JSON.parse(line) as { code: number; output: string } // of our own server
  process.stdout.write(isBatch ? `${JSON.stringify(output)}\n` : output)
  if (!isBatch) process.exitCode = code
})
