import { type AnswerOf, Checkboxes } from '@steeple/console/kit'

export type Boxes = AnswerOf<'GET', '/v1/roaming/boxes'>['boxes']
/** Where a SIM can work, in the order in which it is offered. */
export const REACHES = ['home', 'mesh', 'on_demand', 'boxes'] as const
/** Boxes that a dialog shows: a SIM works on 31 at most. */
export const MOST = 100

/** A choice of boxes. */
export function Choice({
  boxes,
  chosen,
  onChosen,
}: {
  readonly boxes: Boxes
  readonly chosen: ReadonlySet<string>
  readonly onChosen: (chosen: ReadonlySet<string>) => void
}) {
  return (
    <Checkboxes
      options={boxes.map(({ node_id: value, name: label }) => ({ value, label }))}
      chosen={chosen}
      onChange={onChosen}
    />
  )
}
