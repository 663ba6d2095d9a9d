/** `telemetry.*` of the configuration, as far as it is about traces. */
export interface TracingConfig {
  /** Empty: no traces. */
  readonly otlp_url: string
}
