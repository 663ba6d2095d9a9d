/** Configuration of this plugin. */
export interface RoamingConfig {
  /** Whether this box serves SIMs of other boxes. */
  readonly visitors: boolean
  /** The reach of SIMs for which nobody has chosen one. */
  readonly default_reach: 'home' | 'mesh' | 'on_demand'
  /** How long a visited box may serve a SIM without hearing from its home. A duration. */
  readonly lease: string
}
