import type { Settings } from './settings.ts'

/** What one look of `svc doctor` found. `remedy` says what to do when it is not ok. */
export interface Finding {
  readonly name: string
  /** `warn`: it works, but not for long or not for all. `fail`: the service does not start or does not do its work like this. */
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly remedy?: string
}

/**
 * Something that the configuration names and that the doctor looks for itself: a container, a unit of systemd, a program that can be executed, a host
 * and port that take connections (those of `url`; nothing is sent). `key` is the key that names it.
 */
export type Look = { readonly name: string; readonly key: string } & (
  | { readonly container: string }
  | { readonly unit: string }
  | { readonly program: string }
  | { readonly url: string }
)

/** A capability of Linux (linux/capability.h) that the configuration needs, and what for. */
export interface CapabilityNeed {
  readonly capability: 'CAP_NET_BIND_SERVICE' | 'CAP_NET_ADMIN' | 'CAP_NET_RAW'
  readonly why: string
}

/** What `Plugin.doctor` gets: the configuration as `Context` has it. */
export interface DoctorPlace<Config = unknown> {
  readonly config: Config
  readonly settings: Settings
}
