import type { ErrorCode, PathGroup, Route } from '@steeple/contracts'

/** The routes of one live plugin. `retiring` ends its streams when it leaves. */
export interface RouteSet {
  readonly plugin: string
  readonly routes: readonly Route[]
  /** Error codes of its own. */
  readonly errors?: readonly ErrorCode[]
  /** How the documentation shows what is under its path prefixes. */
  readonly paths?: Readonly<Record<string, PathGroup>>
  readonly retiring: AbortSignal
  /** Whether the plugin was installed: unlike those of the build, nobody has tested it against this edge. */
  readonly isInstalled?: boolean
}

/** A built, not yet serving set of routes. Opaque to the kernel. */
export interface EdgeGeneration {
  readonly sets: readonly RouteSet[]
}

/** What serves routes. The api package implements it; tests may use one that serves nothing. */
export interface HttpEdge {
  /** Builds everything; throws on a duplicate route or a schema that does not compile. Changes nothing. */
  build(sets: readonly RouteSet[]): Promise<EdgeGeneration>
  /** Serves `next` from the next request on. Resolves when the requests of the old one are over (at most 5 s). */
  swap(next: EdgeGeneration): Promise<void>
  /** Its own metrics in the text exposition format; they are none of the kernel's. */
  metricsText?(): string
}
