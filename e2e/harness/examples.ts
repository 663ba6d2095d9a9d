import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './launch.ts'

/** The blocks of TypeScript in a Markdown file of the checkout, in their order. */
export function examplesIn(file: string): readonly string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, body = '']) => body)
}

/** Runs a program that knows one package of the checkout, by its name, as one does that has installed it. */
export async function runExample(
  source: string,
  name: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-example-'))
  try {
    mkdirSync(join(folder, 'node_modules/@steeple'), { recursive: true })
    symlinkSync(join(ROOT, 'packages', name), join(folder, 'node_modules/@steeple', name))
    writeFileSync(join(folder, 'example.mts'), source)
    const child = spawn(process.execPath, [join(folder, 'example.mts')], { env: { ...process.env, ...env } })
    let text = ''
    for (const out of [child.stdout, child.stderr])
      out.on('data', (piece) => {
        text += piece
      })
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', resolve)
    })
    return { code, text }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
