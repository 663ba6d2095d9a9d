/**
 * What a newcomer is told of one optional package of a build at the first start: `welcome/parts/<name of the package>.ts`, empty in
 * a build without the package. Apart from its commands, since a service needs none of what these load.
 */
export interface WelcomePart {
  readonly welcome?: (at: WelcomePlace) => Welcome | Promise<Welcome>
}

/** What the lines for a newcomer name. */
export interface WelcomePlace {
  readonly url: string
  /** How the token is written in a shell. */
  readonly token: string
  /** curl with what it needs to trust the box. */
  readonly curl: string
  readonly dataDir: string
  /** Draws what opens the console once; undefined when nobody can. */
  readonly drawLink: () => Promise<string | undefined>
}

/** Lines for a newcomer. */
export interface Welcome {
  /** What else there is, below the addresses. */
  readonly addresses: readonly string[]
  /** What to try. */
  readonly trial: readonly string[]
}
