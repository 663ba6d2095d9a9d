import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { main: 'src/main.ts', 'open5gs-dbctl': 'src/dbctl-main.ts' },
  format: ['esm'],
  target: 'node24',
  sourcemap: true,
  clean: true,
  dts: false,
  splitting: false,
})
