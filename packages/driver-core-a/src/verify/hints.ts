import type { Engine } from '@steeple/southbound'

const DATABASE_AWAY = /Failed to connect to server \[mongodb|No suitable servers found/i

/** Words of the daemons, and what they mean for who reads them. Recorded from the real ones. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    DATABASE_AWAY,
    'the subscriber database cannot be reached from there: set core_a.addresses.mongo or hss.mongo_url',
  ],
  [
    /bind\(\) \[[^\]]*\](?::[0-9]+)? failed|sctp_server .* failed/i,
    'the daemon does not have that address: see core_a.addresses, and the network of its container',
  ],
  [
    /cannot open file `/,
    'the daemon does not see the file: mount core_a.config_dir at core_a.config_mount in its container',
  ],
  [/Failed to parse configuration file|Parser error/, 'the file is not whole: something else writes it too'],
  [
    /Unable to open configuration file for reading/,
    'core_a.config_mount is not where it sees core_a.config_dir',
  ],
  [/getaddrinfo\(.*\) failed/, 'an address is none: see core_a.addresses'],
  [/No [a-z]+\.[a-zA-Z0-9_.]+ in '/, 'it reads another file than the rendered one: see its command line'],
  [
    /Error in the HTTP2 framing layer/,
    'its libcurl breaks the service bus (7.88.1 of Debian 12): take a newer image',
  ],
  [
    /Enable replica sets/,
    'change streams need a replica set; without one a block does not disconnect anybody',
  ],
]

/** Whether a daemon says that it cannot reach the subscriber database, without which it ends with code 0. */
export function isDatabaseAway(words: string): boolean {
  return DATABASE_AWAY.test(words)
}

/** What the last words of a daemon mean, one line; undefined when nothing is known of them. */
export function hintFor(words: string): string | undefined {
  return HINTS.find(([pattern]) => pattern.test(words))?.[1]
}

/** The engine, whose containers' last words are followed by what they mean, for those that are known. */
export function withHints(engine: Engine): Engine {
  return {
    ...engine,
    logsTail: async (container, lines, signal, sinceMs) => {
      const words = await engine.logsTail(container, lines, signal, sinceMs)
      const hint = hintFor(words)
      return hint === undefined ? words : `${words}\nfailed, that is: ${hint}\n`
    },
  }
}
