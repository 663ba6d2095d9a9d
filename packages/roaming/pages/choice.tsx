import { type AnswerOf, Checkbox } from '@steeple/console/kit'

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
  const toggle = (id: string, isChosen: boolean): void =>
    onChosen(new Set([...[...chosen].filter((one) => one !== id), ...(isChosen ? [id] : [])]))
  return (
    <>
      {boxes.map(({ node_id, name }) => (
        <Checkbox
          key={node_id}
          label={name}
          isChecked={chosen.has(node_id)}
          onChange={(isChosen) => toggle(node_id, isChosen)}
        />
      ))}
    </>
  )
}
