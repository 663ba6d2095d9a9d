import { defineConfig } from 'tsup'
// @boundaries-ignore a build's own script, which no program loads
import { MODULE, oneFile } from '../../scripts/builds/one-file.mjs'

/** What makes spans and hands them to a collector: each of these has the API in it, and all have to have the same. */
const API = ['ROOT_CONTEXT', 'SpanKind', 'SpanStatusCode', 'trace']
const REST = {
  '@opentelemetry/exporter-trace-otlp-http': ['OTLPTraceExporter'],
  '@opentelemetry/resources': ['resourceFromAttributes'],
  '@opentelemetry/sdk-trace': ['AlwaysOnSampler', 'ParentBasedSampler', 'TracerProvider'],
}

export default defineConfig({
  entry: ['src/plugin.ts'],
  ...MODULE,
  noExternal: [/^@opentelemetry\//],
  esbuildPlugins: [oneFile('@opentelemetry/api', { names: API, beside: REST })],
})
