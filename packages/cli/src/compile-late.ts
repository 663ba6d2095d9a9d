import { setFlagsFromString } from 'node:v8'

const FLAG = '--invocation-count-for-maglev'
/** How often a function is called, or its loops run as much as that, before V8 compiles it to machine code; as node 24 has it. */
const USUAL_CALLS = 400
/**
 * During a start. It calls some 200 functions more often than 400 times, most of them for the last time: to compile them is a
 * tenth of its processor time. What a start that has much to do runs for long is compiled all the same.
 * What was called by then has its calls left when the start is over, so they are no more than spare most of that tenth.
 */
const LATE_CALLS = 4_000

/**
 * What the service has of node. V8 takes compiled code only while its flags are those that it was compiled with, and what node
 * comes with was compiled with none: so this is loaded before one is set.
 */
const MODULES = [
  'assert async_hooks buffer child_process cluster crypto dgram diagnostics_channel dns dns/promises events fs fs/promises http http2',
  'https net os path perf_hooks process querystring readline readline/promises stream stream/consumers stream/promises',
  'string_decoder timers timers/promises tls tty url util util/types worker_threads zlib',
]

/** Has V8 compile later what is called often: call before anything is loaded that a service consists of. */
export function compileLate(): void {
  // With all that they give, as an import has it: some of it node loads only when it is asked for.
  for (const name of MODULES.join(' ').split(' ')) Object.values(process.getBuiltinModule(name) ?? {})
  setFlagsFromString(`${FLAG}=${LATE_CALLS}`)
}

/** Has V8 compile as it does by itself. */
export function compileAsUsual(): void {
  setFlagsFromString(`${FLAG}=${USUAL_CALLS}`)
}
