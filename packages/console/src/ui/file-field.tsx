import { useId } from 'preact/hooks'

/** A labelled choice of one file. */
export function FileField({
  label,
  help,
  accept,
  onChoose,
}: {
  readonly label: string
  readonly help?: string
  /** Endings, `.tgz,.gz`: what the browser offers first. */
  readonly accept?: string
  readonly onChoose: (file: File | undefined) => void
}) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="file"
        accept={accept}
        required
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        onChange={(event) => onChoose(event.currentTarget.files?.[0])}
      />
      {help === undefined ? null : (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  )
}
