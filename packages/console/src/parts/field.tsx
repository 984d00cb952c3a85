/** A labelled input, and a labelled choice. */

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'datetime-local'
  readonly value?: string
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly isRequired?: boolean
  /** The key `/` leads to it. */
  readonly isFilter?: boolean
  readonly onInput?: (value: string) => void
}

export function Field({
  label,
  type = 'text',
  value,
  onInput,
  isRequired = false,
  isFilter = false,
  ...rest
}: FieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        // Preact's types know each type of an input apart, and this one is either.
        type={type as 'text'}
        spellcheck={false}
        {...{ autocomplete: 'off', ...rest }}
        // What nobody follows stays as it is typed, however often the page is drawn.
        {...(onInput ? { value } : { defaultValue: value })}
        required={isRequired}
        data-filter={isFilter || undefined}
        onInput={onInput && ((event) => onInput(event.currentTarget.value))}
      />
    </label>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly name: string
  readonly value: string
  /** The empty one comes first, as `all`. */
  readonly options: readonly string[]
  readonly all?: string
  readonly onChange?: (value: string) => void
}

export function Choice({ label, name, value, options, all, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select name={name} value={value} onChange={onChange && ((event) => onChange(event.currentTarget.value))}>
        {all !== undefined && <option value="">{all}</option>}
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  )
}
