import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/{plugin,commands}.ts'],
  format: ['esm'],
  target: 'node24',
  // An installed plugin is one file: everything but the host's contracts is part of it.
  noExternal: [/^(?!@steeple\/contracts$)/],
  splitting: false,
  removeNodeProtocol: false,
  clean: true,
  dts: false,
})
