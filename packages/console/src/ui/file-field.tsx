import { useId } from 'preact/hooks'
import { useComplaint } from './complaint.ts'
import { Around, describedBy, type FieldProps, wordsBeside } from './field.tsx'

/** A labelled choice of one file. */
export function FileField({
  accept,
  isRequired = true,
  onChoose,
  ...words
}: Pick<FieldProps, 'label' | 'help' | 'text'> & {
  /** Endings, `.tgz,.gz`: what the browser offers first. */
  readonly accept?: string
  readonly isRequired?: boolean
  readonly onChoose: (file: File | undefined) => void
}) {
  const id = useId()
  const { label, help } = wordsBeside(words)
  const { complaint, onInvalid, onLine } = useComplaint()
  return (
    <Around id={id} label={label} help={help} error={complaint}>
      <input
        id={id}
        type="file"
        accept={accept}
        required={isRequired}
        aria-invalid={complaint !== undefined}
        aria-describedby={describedBy(id, help, complaint)}
        onInvalid={onInvalid}
        onChange={(event) => {
          onLine(event.currentTarget)
          onChoose(event.currentTarget.files?.[0])
        }}
      />
    </Around>
  )
}
