/** The groups of the menu, in its order. */
export const GROUPS = ['now', 'people', 'network', 'care', 'box'] as const

export type Group = (typeof GROUPS)[number]
