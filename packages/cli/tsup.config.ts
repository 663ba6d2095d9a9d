import { execFileSync } from 'node:child_process'
import { defineConfig } from 'tsup'

/** When the newest commit was made, for `GET /v1/version`; nothing is known of a copy without its history. */
function buildDate(): string {
  try {
    const text = execFileSync('git', ['log', '-1', '--format=%cI'], { encoding: 'utf8' })
    return new Date(text.trim()).toISOString()
  } catch {
    return ''
  }
}

export default defineConfig({
  entry: ['src/main.ts'],
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
  define: { STEEPLE_BUILD_DATE: JSON.stringify(buildDate()) },
})
